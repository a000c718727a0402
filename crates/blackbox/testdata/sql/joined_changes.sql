-- UPDATE and DELETE of rows that a join finds.
CREATE TABLE a (id INT PRIMARY KEY, x INT, y INT, KEY (x));
CREATE TABLE b (id INT PRIMARY KEY, a_id INT, x INT, UNIQUE KEY (x));
INSERT INTO a VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0);
INSERT INTO b VALUES (1, 1, 100), (2, 1, 200), (3, 2, 300), (4, 9, 400);
UPDATE a JOIN b ON b.a_id = a.id SET a.y = b.x;
SELECT * FROM a ORDER BY id;
UPDATE a, b SET a.x = a.x + 1, b.x = b.x + 1 WHERE b.a_id = a.id;
SELECT a.id, a.x, b.id, b.x FROM a LEFT JOIN b ON b.a_id = a.id ORDER BY 1, 3;
UPDATE a LEFT JOIN b ON b.a_id = a.id SET a.y = -1 WHERE b.id IS NULL;
UPDATE a LEFT JOIN b ON b.a_id = a.id SET b.x = 7, a.y = 8 WHERE a.id = 3;
SELECT * FROM a ORDER BY id;
UPDATE a JOIN b ON b.a_id = a.id SET b.x = 5;
UPDATE a AS p JOIN a AS q ON q.id = p.id + 1 SET p.y = q.x, q.y = p.x;
SELECT * FROM a ORDER BY id;
UPDATE a AS p JOIN a AS q ON q.id = p.id + 1 SET p.id = 10, q.y = 1;
UPDATE a JOIN (SELECT a_id, COUNT(*) AS n FROM b GROUP BY a_id) AS d ON d.a_id = a.id SET a.y = n;
UPDATE a JOIN (SELECT 1 AS n) AS d SET d.n = 2;
SELECT * FROM a ORDER BY id;
DELETE b FROM a JOIN b ON b.a_id = a.id WHERE a.id = 2;
SELECT id FROM b ORDER BY id;
DELETE FROM a, b USING a JOIN b ON b.a_id = a.id;
-- unordered
SELECT (SELECT GREATEST(MIN(id), 0) FROM a), (SELECT COUNT(*) FROM a), (SELECT COUNT(*) FROM b);
DELETE x FROM a AS x WHERE x.id = 2;
DELETE a FROM a AS x;
-- unordered
SELECT id FROM a;
DELETE FROM a WHERE id IN (SELECT id FROM (SELECT id FROM a) AS d WHERE id > 100);
SELECT * FROM a ORDER BY id;
SELECT * FROM a ORDER BY id;
DO (SELECT COUNT(*) FROM a);
