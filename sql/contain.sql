-- Containment: kiln @> jsonb is the cast's @>, and the planner sees so.

SELECT kiln_register('tagged(id i64, type string, tags string[], r (x i32)?)') IS NOT NULL AS registered;
CREATE TABLE contain_doc (m kiln(tagged));
INSERT INTO contain_doc SELECT kiln_encode('tagged', jsonb_build_object('id', g, 'type', chr(65 + g % 26), 'tags', jsonb_build_array('t' || g % 7, 't' || g % 11),
	'r', CASE WHEN g % 5 = 0 THEN jsonb_build_object('x', g % 13) END)) FROM generate_series(1, 3000) AS g;
SELECT count(*) FROM contain_doc WHERE m @> '{"type": "L"}';
SELECT count(*) FROM contain_doc WHERE m @> '{"tags": ["t3", "t4"]}';
SELECT count(*) FROM contain_doc WHERE m @> '{"r": {"x": 5}}';
SELECT count(*) FROM contain_doc WHERE m @> '{}';
SELECT count(*) FROM contain_doc WHERE m @> '{"id": "1"}';
SELECT count(*) FROM contain_doc WHERE m @> NULL;

-- the same answers as jsonb's own, for every query
SELECT q, count(*) FILTER (WHERE (m @> q) IS DISTINCT FROM (m::jsonb @> q)) AS differ FROM contain_doc,
	(VALUES ('{"type": "L"}'::jsonb), ('{"tags": ["t3"]}'), ('{"r": {}}'), ('[]'), ('"L"'), ('{"nosuch": 1}'), (NULL)) AS queries (q)
GROUP BY q ORDER BY q;

-- an expression index serves it, and jsonpath on the cast
CREATE INDEX contain_doc_gin ON contain_doc USING gin ((m::jsonb) jsonb_path_ops);
ANALYZE contain_doc;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM contain_doc WHERE m @> '{"type": "L"}';
SELECT count(*) FROM contain_doc WHERE m @> '{"type": "L"}';
EXPLAIN (COSTS OFF) SELECT count(*) FROM contain_doc WHERE m::jsonb @? '$.r ? (@.x == 5)';
SELECT count(*) FROM contain_doc WHERE m::jsonb @? '$.r ? (@.x == 5)';
RESET enable_seqscan;
