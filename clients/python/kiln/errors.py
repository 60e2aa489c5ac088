"""What can go wrong. Everything raised on purpose is a kiln.Error."""


class Error(Exception):
    """Base of all errors of this package."""


class FormatError(Error, ValueError):
    """Bytes that break the format. offset counts from the frame's first byte, path leads to the value at fault."""

    def __init__(self, message, offset=None, path=''):
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.path = path

    def __str__(self):
        where = '' if self.offset is None else f' at byte offset {self.offset}'
        return self.message + where + (f', path {self.path}' if self.path else '')


class DefinitionError(Error, ValueError):
    """A definition that breaks the grammar. offset counts characters."""

    def __init__(self, message, offset=None):
        super().__init__(message if offset is None else f'{message} at character {offset}')
        self.offset = offset


class UnknownDefinition(Error, LookupError):
    """A value whose definition is not at hand."""

    def __init__(self, message, hash=None):
        super().__init__(message)
        self.hash = hash


class EncodeError(Error, ValueError):
    """A value that does not fit its definition; path leads to it."""

    def __init__(self, message, path=''):
        super().__init__(message)
        self.message = message
        self.path = path

    def __str__(self):
        return self.message + (f', path {self.path}' if self.path else '')


class PathError(Error, LookupError):
    """A path that can't be followed. sqlstate is what the server would say: 42601, 42703 or 42804."""

    def __init__(self, message, sqlstate):
        super().__init__(message)
        self.sqlstate = sqlstate
