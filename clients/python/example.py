"""Kiln from Python: records and tensors, written and read.

    PYTHONPATH=clients/python python3 clients/python/example.py [conninfo]

Works in a temporary table; the definition that it registers is forgotten at the end.
"""
import sys

import numpy as np
import psycopg

import kiln

with psycopg.connect(sys.argv[1] if len(sys.argv) > 1 else '', autocommit=True) as conn:
    conn.execute("SELECT kiln_register('kiln_py_example(sensor i64,level f64,unit string?,trace f32[])')")
    conn.execute('CREATE TEMPORARY TABLE readings (n integer, r kiln(kiln_py_example), t kiln(tensor))')
    registry = kiln.register(conn)
    Reading = registry['kiln_py_example']

    # rows by COPY in binary: records of a class of their own, tensors of numpy arrays
    with conn.cursor().copy('COPY readings FROM STDIN (FORMAT binary)') as copy:
        copy.set_types(['int4', 'kiln', 'kiln'])
        for n in range(1000):
            copy.write_row((n, Reading(sensor=n % 7, level=n / 4, unit='bar', trace=np.arange(3, dtype='f4')), np.full((2, 3), float(n))))

    cursor = conn.cursor(binary=True)
    record, tensor = cursor.execute('SELECT r, t FROM readings WHERE n = 500').fetchone()
    print(record)
    print(record.level, record['unit'], np.asarray(record.trace).sum())
    print(type(tensor).__name__, tensor.dtype, tensor.shape, tensor.sum(), 'in place' if not tensor.flags.owndata else 'copied')

    changed = kiln.replace(record, level=-1, unit=None)
    cursor.execute('UPDATE readings SET r = %s WHERE n = 500', [changed])
    print(cursor.execute("SELECT r->>'level' FROM readings WHERE n = 500").fetchone()[0])
    print(sum(row[0].level for row in cursor.execute('SELECT r FROM readings')))

    conn.execute('DROP TABLE readings')
    conn.execute("SELECT kiln_forget('kiln_py_example')")
