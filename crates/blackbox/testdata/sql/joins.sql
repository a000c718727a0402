-- Joins: which rows meet, what `*` and names mean.
CREATE TABLE a (id INT PRIMARY KEY, x INT, s VARCHAR(10));
CREATE TABLE b (id INT PRIMARY KEY, a_id INT, x INT, KEY (a_id));
INSERT INTO a VALUES (1, 10, 'one'), (2, 20, 'two'), (3, NULL, 'three'), (4, 20, NULL);
INSERT INTO b VALUES (1, 1, 10), (2, 1, 30), (3, 2, 20), (5, NULL, 20), (6, 9, NULL);
SELECT a.id, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY a.id, b.id;
SELECT a.id, b.id FROM a, b WHERE b.a_id = a.id ORDER BY a.id, b.id;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id ORDER BY a.id, b.id;
SELECT a.id, b.id FROM a RIGHT JOIN b ON b.a_id = a.id ORDER BY b.id;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.x = a.x AND b.id > 1 ORDER BY a.id, b.id;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.id IS NULL ORDER BY a.id;
SELECT a.id, b.id FROM a LEFT JOIN b ON b.a_id = a.id WHERE b.x > 10 ORDER BY a.id, b.id;
SELECT a.id, b.id FROM a JOIN b ON a.x < b.x ORDER BY a.id, b.id;
-- unordered
SELECT COUNT(*) FROM a CROSS JOIN b;
SELECT * FROM a JOIN b USING (id) ORDER BY id;
-- unordered
SELECT * FROM a NATURAL JOIN b;
SELECT * FROM a NATURAL LEFT JOIN b ORDER BY id;
SELECT * FROM a NATURAL RIGHT JOIN b ORDER BY id;
SELECT * FROM a LEFT JOIN b USING (x, id) ORDER BY id;
-- unordered
SELECT id FROM a JOIN b ON a.id = b.id;
-- unordered
SELECT a.* FROM a JOIN b USING (id) WHERE b.id = 1;
SELECT p.id, q.id FROM a AS p STRAIGHT_JOIN a AS q ON q.x = p.x ORDER BY p.id, q.id;
-- unordered
SELECT * FROM a, a;
-- unordered
SELECT * FROM a, b JOIN a AS c ON a.id = c.id;
SELECT a.id, c.id FROM a LEFT JOIN (b JOIN a AS c ON c.x = b.x) ON b.a_id = a.id ORDER BY a.id, c.id;
SELECT d.id, n FROM a AS d JOIN (SELECT a_id, COUNT(*) AS n FROM b GROUP BY a_id) AS e ON e.a_id = d.id ORDER BY d.id;
-- unordered
SELECT * FROM (SELECT 1 AS one, 'x' AS two) AS t;
-- unordered
SELECT * FROM (SELECT 1, 1) AS t;
SELECT a.s, GREATEST(b.x, 25) FROM a JOIN b ON b.a_id = a.id WHERE a.id = 1 ORDER BY b.id;
-- unordered
SELECT a.id FROM a JOIN b USING (nope);
-- Hints change the way to the rows, and not the rows: to MariaDB they are comments.
SELECT /*+ JOIN_ORDER(b, a) */ a.id, b.id FROM a JOIN b ON b.a_id = a.id ORDER BY a.id, b.id;
SELECT /*+ JOIN_PREFIX(c, b) NO_INDEX(b a_id) */ a.id, b.id, c.id FROM a JOIN b ON b.a_id = a.id JOIN a AS c ON c.x = b.x ORDER BY 1, 2, 3;
SELECT /*+ JOIN_SUFFIX(a) */ a.id, b.id, c.id FROM a LEFT JOIN b ON b.a_id = a.id JOIN a AS c ON c.id = a.id ORDER BY 1, 2, 3;
SELECT /*+ JOIN_FIXED_ORDER() */ a.id, b.id FROM b LEFT JOIN a ON b.a_id = a.id ORDER BY b.id;
SELECT /*+ ORDER_INDEX(b a_id) */ a_id FROM b ORDER BY a_id DESC;
SELECT /*+ QB_NAME(outer_block) */ id FROM a WHERE id IN (SELECT /*+ QB_NAME(inner_block) JOIN_INDEX(b a_id) */ a_id FROM b) ORDER BY id;
