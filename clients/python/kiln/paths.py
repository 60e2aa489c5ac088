"""Paths into values (docs/FORMAT.md, section 6): "a.b", "list[-1]", 'dict."a.b"'."""
import re
import unicodedata

from .errors import PathError

_STEP = re.compile(r'\[(-?[0-9]+)\]|"((?:[^"]|"")*)"|([^.\[\]"]+)')


def parse(path):
    """Steps of a path: names are str, positions int."""
    steps, at = [], 0
    while at < len(path):
        if steps and path[at] == '.':
            at += 1
            if path[at:at + 1] == '[':
                raise PathError(f'malformed path at character {at}', '42601')
        elif steps and path[at] != '[':
            raise PathError(f'malformed path at character {at}', '42601')
        match = _STEP.match(path, at)
        if not match:
            raise PathError(f'malformed path at character {at}', '42601')
        index, quoted, bare = match.groups()
        steps.append(_position(index) if index is not None else bare if bare is not None else quoted.replace('""', '"'))
        at = match.end()
    return steps


def _position(text):
    return int(text) if len(text) < 20 else -2 ** 63 if text[0] == '-' else 2 ** 63


def resolve(type_, steps):
    """The type that the steps lead to, whatever a value holds; PathError if they lead nowhere."""
    for step in steps:
        while type_.kind == 'optional':
            type_ = type_.element
        if type_.kind == 'struct' and isinstance(step, str):
            n = type_.index.get(unicodedata.normalize('NFC', step))
            if n is None:
                raise PathError(f'field {step!r} does not exist in {type_.text[:100]}', '42703')
            type_ = type_.fields[n].type
        elif type_.kind == 'dict' and isinstance(step, str) or type_.kind == 'list' and isinstance(step, int):
            type_ = type_.element
        elif type_.kind == 'json':
            raise PathError('a path does not go on inside a json value', '42804')
        else:
            raise PathError(f'step {step!r} cannot be applied to {type_.text[:100]}', '42804')
    while type_.kind == 'optional':
        type_ = type_.element
    return type_


def locate(type_, steps, b, p, e):
    """Type and position of the value that the steps lead to; None where it is absent."""
    for step in [*steps, None]:
        while type_.kind == 'optional':
            if not type_.present(b, p, e):
                return None
            type_, p = type_.element, p + 1
        if step is None:
            break
        if type_.kind == 'struct':
            n = type_.index[unicodedata.normalize('NFC', step)]
            fixed = type_.fixed
            at = min(n, len(fixed) - 1)
            p += fixed[at]
            for field in type_.fields[at:n]:
                p = field.type.skip(b, p, e)
            type_ = type_.fields[n].type
        elif type_.kind == 'dict':
            view = type_.get(b, p, e)
            if step not in view:
                return None
            type_, p = type_.element, view._places()[step]
        else:
            view = type_.get(b, p, e)
            n = step + len(view) if step < 0 else step
            if not 0 <= n < len(view):
                return None
            type_, p = type_.element, view._place(n)
    return type_, p


def follow(type_, path, b, p, e, registry=None):
    """As locate, of a path's text. A field that only another registered version of the definition has is absent."""
    steps = parse(path)
    try:
        resolve(type_, steps)
    except PathError as error:
        if error.sqlstate != '42703' or registry is None or not _in_another(type_, steps, registry):
            raise
        return None
    return locate(type_, steps, b, p, e)


def _in_another(type_, steps, registry):
    for schema in registry.versions(getattr(type_, 'name', None)):
        try:
            resolve(schema.root, steps)
            return True
        except PathError:
            pass
    return False


