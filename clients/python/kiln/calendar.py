"""Dates and timestamps: PostgreSQL's numbers, Python's objects and the ISO text of the text form.

A date is days, a timestamp microseconds since 2000-01-01. What Python's calendar holds (years 1 to 9999) comes as datetime.date and
datetime.datetime; infinities and all other years as Days, Microseconds and MicrosecondsUTC, integers that print as PostgreSQL does.
"""
import re
from datetime import date, datetime, timedelta, timezone

DATE_RANGE = (-2451545, 2145031948)
DATE_INFINITE = (-2 ** 31, 2 ** 31 - 1)
TIMESTAMP_RANGE = (-211813488000000000, 9223371331199999999)
TIMESTAMP_INFINITE = (-2 ** 63, 2 ** 63 - 1)
DAY = 86400000000

_EPOCH = date(2000, 1, 1).toordinal()
_EPOCH_TIME = datetime(2000, 1, 1)
_EPOCH_UTC = datetime(2000, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_FIRST, _LAST = 1 - _EPOCH, date.max.toordinal() - _EPOCH

_DATE = r'(\d{4}|[1-9]\d{4,})-(\d\d)-(\d\d)'
_DATE_TEXT = re.compile(_DATE + r'( BC)?', re.ASCII)
_TIME_TEXT = re.compile(_DATE + r'T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d(?::\d\d(?::\d\d)?)?)?( BC)?', re.ASCII)


class _Moment(int):
    _infinite = ()
    _what = ''

    @property
    def is_infinite(self):
        return int(self) in self._infinite

    def __repr__(self):
        return f'kiln.{type(self).__name__}({str(self)!r})'

    def __new__(cls, value):
        return super().__new__(cls, cls._parse(value) if isinstance(value, str) else value)

    def __str__(self):
        if self.is_infinite:
            return 'infinity' if self > 0 else '-infinity'
        return self._iso()


class Days(_Moment):
    """A date that Python's calendar does not hold: days since 2000-01-01. Also takes its text."""

    _infinite = DATE_INFINITE

    @staticmethod
    def _parse(text):
        return days_of_text(text)

    def _iso(self):
        return _iso_date(int(self), '')


class Microseconds(_Moment):
    """A timestamp that Python's calendar does not hold: microseconds since 2000-01-01. Also takes its text."""

    _infinite = TIMESTAMP_INFINITE
    _zone = ''

    @classmethod
    def _parse(cls, text):
        return microseconds_of_text(text, bool(cls._zone))

    def _iso(self):
        days, rest = divmod(int(self), DAY)
        seconds, fraction = divmod(rest, 1000000)
        time = f'T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}'
        if fraction:
            time += f'.{fraction:06}'.rstrip('0')
        return _iso_date(days, time + self._zone)


class MicrosecondsUTC(Microseconds):
    """The same, of a timestamptz."""

    _zone = '+00:00'


def _days_from_civil(year, month, day):
    """Days since 2000-01-01 in the proleptic Gregorian calendar, any year (0 is 1 BC)."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 730425


def _civil_from_days(days):
    days += 730425
    era = days // 146097
    day_of_era = days - era * 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    index = (5 * day_of_year + 2) // 153
    month = index + (3 if index < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * index + 2) // 5 + 1


def _iso_date(days, time):
    year, month, day = _civil_from_days(days)
    return f'{year if year > 0 else 1 - year:04}-{month:02}-{day:02}{time}' + ('' if year > 0 else ' BC')


def _days(year, month, day, bc):
    year, month, day = int(year), int(month), int(day)
    if not 1 <= month <= 12 or not 1 <= day <= 31 or year == 0:
        raise ValueError('no such date')
    days = _days_from_civil(1 - year if bc else year, month, day)
    if _civil_from_days(days)[2] != day:
        raise ValueError('no such date')
    return days


def days_of_text(text):
    """Days of an ISO date, with " BC", or an infinity."""
    if text in ('infinity', '-infinity'):
        return DATE_INFINITE[text == 'infinity']
    match = _DATE_TEXT.fullmatch(text)
    if not match or len(match.group(1)) > 7:
        raise ValueError(f'not a date: {text[:40]!r}')
    return _days(*match.groups())


def microseconds_of_text(text, with_zone):
    """Microseconds of an ISO timestamp; with_zone: one of a timestamptz, which must name its zone."""
    if text in ('infinity', '-infinity'):
        return TIMESTAMP_INFINITE[text == 'infinity']
    match = _TIME_TEXT.fullmatch(text)
    if not match or len(match.group(1)) > 7:
        raise ValueError(f'not a timestamp: {text[:60]!r}')
    year, month, day, hour, minute, second, fraction, zone, bc = match.groups()
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        raise ValueError(f'no such time: {text[:60]!r}')
    if with_zone != (zone is not None):
        raise ValueError('a timestamptz has a time zone' if with_zone else 'a timestamp has no time zone')
    seconds = int(hour) * 3600 + int(minute) * 60 + int(second)
    if zone and zone != 'Z':
        parts = [int(part) for part in zone[1:].split(':')] + [0, 0]
        if parts[0] > 15 or parts[1] > 59 or parts[2] > 59:
            raise ValueError(f'no such time zone: {zone}')
        offset = parts[0] * 3600 + parts[1] * 60 + parts[2]
        seconds += offset if zone[0] == '-' else -offset
    return _days(year, month, day, bc) * DAY + seconds * 1000000 + int((fraction or '0').ljust(6, '0'))


def date_of_days(days):
    return date.fromordinal(days + _EPOCH) if _FIRST <= days <= _LAST else Days(days)


def time_of_microseconds(value, with_zone):
    if _FIRST * DAY <= value < (_LAST + 1) * DAY:
        return (_EPOCH_UTC if with_zone else _EPOCH_TIME) + timedelta(microseconds=value)
    return (MicrosecondsUTC if with_zone else Microseconds)(value)


def days_of(value):
    """Days of what a caller gives for a date."""
    if isinstance(value, Days):
        return int(value)
    if isinstance(value, str):
        return days_of_text(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.toordinal() - _EPOCH
    raise TypeError(f'{type(value).__name__} for a date')


def microseconds_of(value, with_zone):
    """Microseconds of what a caller gives for a timestamp or timestamptz."""
    if isinstance(value, Microseconds):
        return int(value)
    if isinstance(value, str):
        return microseconds_of_text(value, with_zone)
    if not isinstance(value, datetime):
        raise TypeError(f'{type(value).__name__} for a timestamp')
    if with_zone != (value.tzinfo is not None):
        raise ValueError('a timestamptz has a time zone' if with_zone else 'a timestamp has no time zone')
    return (value - (_EPOCH_UTC if with_zone else _EPOCH_TIME)) // _MICROSECOND
