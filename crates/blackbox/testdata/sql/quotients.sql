CREATE TABLE r (id INT PRIMARY KEY, a INT, b INT, p DECIMAL(12,2), d6 DECIMAL(20,6), d12 DECIMAL(30,12), d0 DECIMAL(10,0), v VARCHAR(60), c CHAR(20), t TEXT, bl BLOB, x DOUBLE, i INT, KEY (d6));
INSERT INTO r (id, a, b, p) VALUES (1, 1, 3, 10.00), (2, 2, 3, 20.05), (3, 5, 7, -1.25), (4, 10, 6, 0), (5, 1, 0, NULL);
UPDATE r SET d6 = a / b, d12 = a / b, d0 = a / b, v = a / b, c = a / b, t = a / b, bl = a / b, x = a / b, i = a / b WHERE id < 5;
SELECT * FROM r ORDER BY id;
UPDATE r SET d6 = p / a, d12 = p / b / a, v = p / b, t = p / b * a, x = p / a WHERE id < 5;
SELECT id, d6, d12, v, t, x FROM r ORDER BY id;
SELECT 1 / 3, 1 / 3 * 3, 1 / 3 + 0, 1 / 3 + 1 / 3, 2 / 3 - 1 / 3, 1 / 3 / 3, 0.1 / 3 * 3, 10 / 3 * 3.000, -1 / 3 * 3, 1 / 7 * 1 / 7 * 1 / 7;
SELECT ROUND(1 / 3, 6), ROUND(2 / 3, 20), TRUNCATE(1 / 3, 7), ROUND(1 / 3), ROUND(1 / 3, -1), FLOOR(1 / 3 * 3), CEIL(1 / 3 * 3), ABS(-1 / 3) * 3, SIGN(1 / 3);
SELECT ROUND(1.00000 / 3.00000, 30), ROUND(1.00 / 3.00, 30), ROUND(1.0000000001 / 3, 30), ROUND(1 / 3 / 3, 30), ROUND(1 / 3 / 3 / 3, 30), ROUND((1 / 3) / (1 / 3) / (1 / 3), 30);
SELECT IFNULL(1 / 3, 0) * 3, COALESCE(1 / 3, 2) * 3, IF(1, 1 / 3, 2) * 3, CASE WHEN 1 THEN 1 / 3 END * 3, NULLIF(1 / 3, 1) * 3, GREATEST(1 / 3, 0.1) * 3, LEAST(1 / 3, 1) * 3;
SELECT 1000 * POW(1 + 0.05 / 12, 120), SQRT(1 / 3), 1 / 3 + 0e0, CAST(1 / 3 AS DECIMAL(20,10)), CAST(2 / 3 AS SIGNED), 2 / 3 | 0, MOD(1 / 3, 0.01), (1 / 3) DIV 0.1;
SELECT CONCAT(1 / 3), CAST(1 / 3 AS CHAR), LENGTH(1 / 3), 1 / 3 LIKE '0.3333', FORMAT(1 / 3, 8), 1 / 3 = '0.3333', 1 / 100000 IS TRUE, 1 / 10000000000 AND 1;
SELECT AVG(a / b), SUM(a / b), AVG(a / b) * 3, SUM(a / b) * 3, MIN(a / b) * 3, MAX(a / b) * 3, AVG(a) * 3, AVG(p), AVG(p) * 7, SUM(p / 3) FROM r;
SELECT ROUND(AVG(a / b), 12), ROUND(AVG(a), 12), ROUND(AVG(p), 20), ROUND(SUM(a / b), 12) FROM r;
SELECT a / b / 1000, COUNT(*) FROM r GROUP BY a / b / 1000 ORDER BY 1;
SELECT id FROM r ORDER BY a / 1000000, id DESC;
SELECT a / 1000000, COUNT(*) FROM r GROUP BY a / 1000000 ORDER BY a / 1000000;
SELECT COUNT(DISTINCT a / 100000), SUM(DISTINCT a / 100000), AVG(DISTINCT a / 100000) FROM r;
-- unordered
SELECT DISTINCT a / 100000 FROM r;
-- mysql 0|1|0|0
SELECT 1 / 3 = 0.3333, 1 / 3 = 0.333333333, 1 / 3 IN (0.3333), 1 / 3 BETWEEN 0.3333 AND 0.33333;
-- mysql 
SELECT id FROM r WHERE a / b = 0.3333;
UPDATE r SET d6 = 1 / 3 WHERE id = 1;
-- mysql 
SELECT id FROM r WHERE d6 = 1 / 3;
SELECT id FROM r WHERE d6 = 0.333333;
SELECT id FROM r WHERE d6 > 1 / 3 ORDER BY id;
INSERT INTO r (id, v) VALUES (10, 0 / 3), (11, 1 / 3 - 1 / 3), (12, IF(1, 5, 0.25)), (13, 1 / 3 * 3), (14, (1 / 3) * (1 / 3)), (15, 10 / 5), (16, IFNULL(1 / 3, 'x')), (17, -1 / 3), (18, 1.50 * 2), (19, ROUND(1 / 3, 2)), (20, CONCAT(1 / 3)), (21, MOD(5, 1 / 3)), (22, (1 / 3) / (1 / 3)), (23, (1 / 3) / (1 / 3) / (1 / 3));
SELECT id, v FROM r WHERE id >= 10 ORDER BY id;
SET @x = 1 / 3, @y = IF(1, 5, 0.25);
SELECT @x, @y, @z := 1 / 3, @z;
