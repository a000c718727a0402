-- Queries in expressions: values, three-valued comparisons, EXISTS.
CREATE TABLE a (id INT PRIMARY KEY, x INT);
CREATE TABLE b (id INT PRIMARY KEY, a_id INT, x INT, KEY (a_id));
INSERT INTO a VALUES (1, 10), (2, 20), (3, NULL), (4, 20);
INSERT INTO b VALUES (1, 1, 10), (2, 1, 30), (3, 2, 20), (5, NULL, 20), (6, 9, NULL);
-- unordered
SELECT (SELECT 1), (SELECT MAX(x) FROM b), (SELECT id FROM a WHERE id = 9);
SELECT id, (SELECT SUM(x) FROM b WHERE b.a_id = a.id) AS s FROM a ORDER BY id;
SELECT id FROM a WHERE x IN (SELECT x FROM b WHERE id < 4) ORDER BY id;
SELECT id, x IN (SELECT x FROM b), x NOT IN (SELECT x FROM b WHERE x IS NOT NULL) FROM a ORDER BY id;
SELECT id FROM a WHERE EXISTS (SELECT * FROM b WHERE b.a_id = a.id) ORDER BY id;
SELECT id FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.a_id = a.id) ORDER BY id;
SELECT id FROM a WHERE x >= ALL (SELECT x FROM b WHERE x IS NOT NULL AND id <> 2) ORDER BY id;
SELECT id FROM a WHERE x > ANY (SELECT x FROM b) ORDER BY id;
SELECT id FROM a WHERE (id, x) IN (SELECT a_id, x FROM b) ORDER BY id;
-- unordered
SELECT (1, 10) = (SELECT a_id, x FROM b WHERE id = 1), (1, 11) > (SELECT a_id, x FROM b WHERE id = 1);
-- unordered
SELECT (SELECT x FROM b);
-- unordered
SELECT (SELECT 1, 2);
-- unordered
SELECT id FROM a WHERE id IN (SELECT 1, 2);
-- unordered
SELECT (SELECT nope FROM a);
-- unordered
SELECT (SELECT a.nope FROM b) FROM a;
-- unordered
SELECT 1 IN (SELECT 2 FROM a WHERE id = 9), NULL IN (SELECT 2 FROM a WHERE id = 9), NULL IN (SELECT 1), 1 IN (SELECT NULL);
SELECT id FROM a GROUP BY id HAVING COUNT(*) < (SELECT COUNT(*) FROM b WHERE b.a_id = a.id) ORDER BY id;
SELECT id FROM a ORDER BY (SELECT COUNT(*) FROM b WHERE b.a_id = a.id) DESC, id;
SELECT id, (SELECT (SELECT COUNT(*) FROM b AS c WHERE c.a_id = a.id AND c.x >= b.x) FROM b WHERE b.a_id = a.id ORDER BY b.id LIMIT 1) AS n FROM a ORDER BY id;
-- unordered
SELECT id FROM a WHERE id = (SELECT MIN(a_id) FROM b);
UPDATE a SET x = (SELECT MAX(x) FROM b WHERE b.a_id = a.id) WHERE id < 3;
SELECT * FROM a ORDER BY id;
DELETE FROM a WHERE id IN (SELECT a_id FROM b);
SELECT * FROM a ORDER BY id;
INSERT INTO a VALUES ((SELECT MAX(id) FROM b), (SELECT COUNT(*) FROM b));
SELECT * FROM a ORDER BY id;
-- unordered
SELECT id FROM a WHERE x = (SELECT x FROM b WHERE b.id = a.id) OR id = 3;
-- unordered
SELECT CASE WHEN 1 = 1 THEN 1 ELSE (SELECT x FROM b) END;
-- unordered
SELECT * FROM a WHERE id IN (SELECT a_id FROM b);
CREATE TABLE c (k VARCHAR(5) PRIMARY KEY);
INSERT INTO c VALUES ('1'), ('01'), ('x');
SELECT k FROM c WHERE k IN (SELECT 1) ORDER BY k;
SELECT k FROM c WHERE k IN (SELECT 'X') ORDER BY k;
SELECT b.id, a.id, COUNT(*) FROM b LEFT JOIN a ON a.id = b.a_id GROUP BY b.id ORDER BY b.id;
SELECT b.x, a.x FROM b JOIN a ON a.id = b.a_id GROUP BY b.id ORDER BY 1;
