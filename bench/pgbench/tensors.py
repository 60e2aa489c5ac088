"""Tensors against arrays: the legs of each comparison by turns, in one session.

usage: tensors.py CONNINFO ROUNDS

A leg's time is the CPU time of the backend, the least of all rounds, so that a busy machine disturbs little; "net" takes off the scan
that all legs share, where there is one. Peak memory is that of a fresh backend that runs the leg once, without shared memory. Everything is in shared buffers or the system's cache.
"""
import re
import sys

import psycopg

SETTINGS = "SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '8GB'; SET hash_mem_multiplier = 1"

DATA = """
CREATE EXTENSION kiln;
CREATE UNLOGGED TABLE samples AS
    SELECT (i * 7919::bigint % 10000)::int AS g, (i * 7919::bigint % 1000000)::int AS h, random() AS x FROM generate_series(1, 10000000) i;
CREATE UNLOGGED TABLE large (n int, a float8[], v kiln);
ALTER TABLE large ALTER a SET STORAGE EXTERNAL;
INSERT INTO large SELECT n, (SELECT array_agg(random()) FROM generate_series(1, 262144) WHERE n > 0), NULL FROM generate_series(1, 200) n;
UPDATE large SET v = kiln_tensor(a);
CREATE UNLOGGED TABLE vectors AS
    SELECT n, (SELECT array_agg(random()) FROM generate_series(1, 1000) WHERE n > 0) AS a FROM generate_series(1, 10000) n;
ALTER TABLE vectors ADD v kiln;
UPDATE vectors SET v = kiln_tensor(a);
"""

SCAN = 'SELECT count(x) FROM samples'

# title, scan or None, legs (the first is the reference), whether memory is measured
COMPARISONS = [
    ('10,000,000 rows to one', SCAN, {
        'array_agg': 'SELECT array_ndims(array_agg(x)) FROM samples',
        'kiln_tensor_agg': 'SELECT kiln_ndim(kiln_tensor_agg(x)) FROM samples'}, True),
    ('10,000 interleaved groups of 1,000', SCAN, {
        'array_agg': 'SELECT count(a) FROM (SELECT array_agg(x) AS a FROM samples GROUP BY g) t',
        'kiln_tensor_agg': 'SELECT count(a) FROM (SELECT kiln_tensor_agg(x) AS a FROM samples GROUP BY g) t'}, True),
    ('1,000,000 interleaved groups of 10', SCAN, {
        'array_agg': 'SELECT count(a) FROM (SELECT array_agg(x) AS a FROM samples GROUP BY h) t',
        'kiln_tensor_agg': 'SELECT count(a) FROM (SELECT kiln_tensor_agg(x) AS a FROM samples GROUP BY h) t'}, True),
    ('one element of 200 values of 2 MiB', None, {
        'a[i]': 'SELECT sum(a[200000]) FROM large',
        'kiln_at': 'SELECT sum(kiln_at(v, 200000)) FROM large'}, False),
    ('mean of 10,000 rows of 1,000', None, {
        'unnest, GROUP BY': 'SELECT count(*) FROM (SELECT avg(x) FROM vectors, unnest(a) WITH ORDINALITY u (x, i) GROUP BY i) t',
        'kiln_avg_agg(array)': 'SELECT kiln_ndim(kiln_avg_agg(a)) FROM vectors',
        'kiln_avg_agg(kiln)': 'SELECT kiln_ndim(kiln_avg_agg(v)) FROM vectors',
        'one copy a row': 'SELECT sum(pg_column_size(array_cat(a, NULL))) FROM vectors'}, False),
    ('10,000 rows of 1,000 stacked', None, {
        'array_agg': 'SELECT array_ndims(array_agg(a)) FROM vectors',
        'kiln_tensor_agg': 'SELECT kiln_ndim(kiln_tensor_agg(a)) FROM vectors'}, True),
    ('sum of 262,144, 200 times', None, {
        'one copy': 'SELECT sum(pg_column_size(array_cat(a, NULL))) FROM large',
        'kiln_sum': 'SELECT sum(kiln_sum(v)) FROM large',
        'unnest': 'SELECT sum(x) FROM large, unnest(a) x WHERE n <= 20'}, False),
    ('array of 2 MiB to a tensor, 200 times', None, {
        'one copy': 'SELECT sum(pg_column_size(array_cat(a, NULL))) FROM large',
        'kiln_tensor': 'SELECT sum(kiln_ndim(kiln_tensor(a))) FROM large'}, False),
]


def cpu(pid):
    with open(f'/proc/{pid}/schedstat') as file:
        return int(file.read().split()[0]) / 1e6


def peak(conninfo, query):
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(SETTINGS)
        cursor.execute("SELECT kiln_ndim(kiln_tensor('{1}'::float8[]))")      # every leg has the library loaded
        cursor.execute(query)
        cursor.fetchall()
        with open(f'/proc/{connection.info.backend_pid}/status') as file:
            status = file.read()
    kib = {key: int(re.search(key + r':\s+(\d+)', status)[1]) for key in ('VmHWM', 'RssShmem')}
    return (kib['VmHWM'] - kib['RssShmem']) / 1024


def main():
    conninfo, rounds = sys.argv[1], int(sys.argv[2])
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.cursor()
        if cursor.execute("SELECT to_regclass('samples')").fetchone()[0] is None:
            cursor.execute(DATA)
            for table in ('samples', 'large', 'vectors'):
                cursor.execute(f'VACUUM (FULL, ANALYZE) {table}')
        cursor.execute(SETTINGS)
        pid = connection.info.backend_pid
        for title, scan, legs, memory in COMPARISONS:
            queries = dict(legs, **({'scan': scan} if scan else {}))
            times = {name: [] for name in queries}
            for _ in range(rounds):
                for name, query in queries.items():
                    start = cpu(pid)
                    cursor.execute(query)
                    cursor.fetchall()
                    times[name].append(cpu(pid) - start)
            off = min(times['scan']) if scan else 0
            reference = min(times[next(iter(legs))]) - off
            print(title)
            for name in queries:
                net = min(times[name]) - off
                line = f'    {name:22} {min(times[name]):9.2f} ms'
                if name in legs:
                    line += f'   net {net:9.2f} ms   {net / reference:6.3f} of the first'
                if memory:
                    line += f'   peak {peak(conninfo, queries[name]):6.0f} MB'
                print(line, flush=True)


main()
