SELECT !1, !0, !NULL, ! 1 + 1, !(1 + 1), !!5, -!1, !-1, !'a', 1 + !0;
SELECT 1 ^ 3, 2 ^ 3 * 4, 2 * 3 ^ 4, -2 ^ 3, ~1 ^ 3, 1 + 2 ^ 3, 6 & 3 ^ 5, 6 | 3 ^ 5;
SELECT 1 << 2 + 1, 1 + 1 << 2, 16 >> 2 - 1, 1 << 2 & 4, 7 & 1 << 1, 1 | 1 << 1, 1 << 1 << 1, 64 >> 2 >> 1, 2 * 1 << 3;
SELECT 5 & 6 | 1, 1 | 6 & 5, 5 & 3 = 1, 1 = 5 & 3, 2 | 1 = 3, 3 = 2 | 1, 10 - 2 & 7, 7 & 10 - 2;
SELECT -3 & 255, - 2 * 3, -2 - -3, - - 2, +5 - +3, ~0 & 7, -2 DIV 1 ^ 1, 7 % 4 ^ 1, 7 MOD 4 ^ 1;
SELECT 1 = 1 XOR 0, 1 XOR 1 = 1, 0 = 1 XOR 0 = 1, 1 AND 1 XOR 1 AND 0, 1 OR 1 XOR 1, 1 XOR 0 OR 1, NOT 1 XOR 1, 1 XOR NOT 1;
SELECT 1 = 2 BETWEEN 0 AND 3, 0 = 1 IN (2), 2 BETWEEN 1 AND 3 = 1, 1 IN (1) = 1, 1 < 2 < 3, 3 > 2 > 1, 1 = 1 IS NULL, 1 IS NULL = 0, NULL = 1 IS NULL;
SELECT 1 = 'b' LIKE 'b', 'b' LIKE 'b' = 1, 0 = 'a' NOT LIKE 'a', 1 <=> 'x' REGEXP 'x', 2 + 1 LIKE '3', NOT 'a' LIKE 'b', NOT 1 = 2, NOT 1 + 1;
SELECT 1 + 1 BETWEEN 1 | 2 AND 2 + 2, 5 IN (1 + 4, 2), 3 & 1 IN (1), 1 << 1 BETWEEN 1 AND 3, 8 NOT BETWEEN 1 AND 2 OR 0;
SELECT 'abc' REGEXP 'B', 'abc' RLIKE '^a.c$', 'abc' NOT REGEXP 'b', 'abc' NOT RLIKE 'x', NULL REGEXP 'a', 'a' REGEXP NULL;
SELECT 'abc' REGEXP BINARY 'B', BINARY 'abc' REGEXP 'b', 'ABC' COLLATE utf8mb4_bin REGEXP 'b', 'É' REGEXP 'é', 'É' COLLATE utf8mb4_bin REGEXP 'é';
SELECT 'a1b22' REGEXP '[0-9]{2}', 'x' REGEXP '[[:digit:]]', 'tab\t' REGEXP '[[:space:]]$', 'a.b' REGEXP 'a\\.b', 'axb' REGEXP 'a\\.b', 'foobar' REGEXP '(foo|bar){2}', 'ab' REGEXP 'a b';
SELECT 'a\nb' REGEXP '^b', 'a\nb' REGEXP 'a.b', 'a\n' REGEXP 'a$', 'a\nb' REGEXP 'a$', 'a\n\n' REGEXP 'a$', 12345 REGEXP '^12', 1.5 REGEXP '\\.5$', '日本語' REGEXP '^.{3}$';
SELECT 'a' REGEXP 'b' OR 1, 'a' REGEXP 'a' AND 0, 'ab' REGEXP CONCAT('a', 'b'), 1 + ('a' REGEXP 'a'), NOT 'a' REGEXP 'a';
-- mysql 3688
SELECT 'a' REGEXP '*a';
-- mysql 3691
SELECT 'a' REGEXP '(a';
-- mysql 3696
SELECT 'a' REGEXP '[a';
-- mysql 3685
SELECT 'a' REGEXP '';
-- mysql 3690
SELECT 'aa' REGEXP '(a)\\1';
-- mysql 3700
SELECT 'a' REGEXP '((a{1000}){1000}){1000}';
-- mysql 3697
SELECT 'a' REGEXP '[z-a]';
-- mysql 1|0|1|1|0
SELECT REGEXP_LIKE('abc', 'B'), REGEXP_LIKE('abc', 'B', 'c'), REGEXP_LIKE('a\nb', '^b$', 'm'), REGEXP_LIKE('a\nb', 'a.b', 'n'), REGEXP_LIKE('aB', 'ab', 'ic');
-- mysql 1210
SELECT REGEXP_LIKE('a', 'a', 'x');
CREATE TABLE r (id INT PRIMARY KEY, v VARCHAR(20), b VARCHAR(20) COLLATE utf8mb4_bin, d DATETIME);
INSERT INTO r VALUES (1, 'Alpha', 'Alpha', '2024-01-31 10:20:30'), (2, 'beta', 'beta', '2023-12-31 23:59:59'), (3, NULL, NULL, NULL);
SELECT id FROM r WHERE v REGEXP '^a' ORDER BY id;
SELECT id FROM r WHERE b REGEXP '^a' OR id << 1 = 4 ORDER BY id;
SELECT id, v NOT REGEXP 'p', v REGEXP b FROM r ORDER BY id;
UPDATE r SET v = 'gamma' WHERE v RLIKE 'A$' AND !(id = 2);
SELECT id, v FROM r ORDER BY id;
DELETE FROM r WHERE id & 1 = 1 AND v REGEXP 'm{2}';
SELECT '2024-01-01 00:00:00' + INTERVAL '1:30' MINUTE_SECOND, '2024-01-01' + INTERVAL '1 2' DAY_HOUR, '2024-01-01' - INTERVAL '1:1:1' HOUR_SECOND;
SELECT DATE_ADD('2024-01-31', INTERVAL '1-1' YEAR_MONTH), DATE_SUB('2024-01-31 12:00:00', INTERVAL '1 1:1:1' DAY_SECOND), '2024-01-01 00:00:00' + INTERVAL '1:2' HOUR_MINUTE, '2024-01-01 00:00:00' + INTERVAL '3 4:5' DAY_MINUTE;
SELECT '2024-01-01 00:00:00' + INTERVAL '1.5' SECOND_MICROSECOND, '2024-01-01 00:00:00' + INTERVAL '-1:30' MINUTE_SECOND, '2024-01-01 00:00:00' + INTERVAL '1:1.25' MINUTE_MICROSECOND;
SELECT INTERVAL '1 1' DAY_HOUR + '2024-01-01', '2024-01-01' + INTERVAL 1 DAY + INTERVAL 2 HOUR, '2024-01-01' + INTERVAL 1 + 1 DAY, '2024-01-01' + INTERVAL (1 + 1) DAY, INTERVAL(2, 1, 3), INTERVAL(23, 1, 15, 17, 30) + 1;
SELECT EXTRACT(MINUTE_SECOND FROM '2024-01-02 03:04:05'), EXTRACT(YEAR_MONTH FROM '2024-01-02'), EXTRACT(DAY_HOUR FROM '2024-01-02 03:04:05'), EXTRACT(YEAR FROM '2024-01-02'), EXTRACT(quarter FROM '2024-05-02');
SELECT d + INTERVAL '1:30' MINUTE_SECOND, d - INTERVAL '1' YEAR, d + INTERVAL id DAY FROM r ORDER BY id;
-- status
SELECT '2024-01-01' + INTERVAL 1 FORTNIGHT;
SET @a := 1 + 1, @b = 2 | 1 << 2;
SELECT @a, @b;
SELECT @c := 1 = 1, @c, @d := 3 AND 0, @d;
-- A text beside NULL is converted all the same, which a strict change refuses; not so on the right of NULL where the
-- operator does not look there.
CREATE TABLE beside (id INT PRIMARY KEY, n INT, v VARCHAR(5), i BIGINT);
INSERT INTO beside VALUES (1, NULL, 'x', 1);
UPDATE beside SET i = v + n;
UPDATE beside SET i = n + v;
UPDATE beside SET i = n * v;
UPDATE beside SET i = v / n;
UPDATE beside SET i = n % v;
UPDATE beside SET i = v | n;
UPDATE beside SET i = v << n;
UPDATE beside SET i = n << v;
UPDATE beside SET i = v DIV n;
SELECT * FROM beside;
UPDATE beside SET i = n | v, i = n & v, i = n DIV v;
SELECT * FROM beside;
-- Constants of INTERVAL are evaluated wherever the place is.
SELECT INTERVAL(0, 1, 1 + 1 * 9223372036854775807) FROM beside;
SELECT INTERVAL(id - 1, 1, id + 1 * 9223372036854775807) FROM beside;
DROP TABLE beside;
