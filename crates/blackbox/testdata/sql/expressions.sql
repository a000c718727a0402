SELECT 1 + 2, 5 - 7, 3 * 4, 7 / 2, 7 DIV 2, 7 % 3, -7 % 3, 7 MOD 4;
SELECT 1 / 0, 1 DIV 0, 1 % 0;
SELECT 1.5 + 1, 0.1 + 0.2, 1.10 * 2.20, 10 / 4, 1 / 3;
SELECT 1e0 + 1, 2e3 / 3;
SELECT '5' + 1, '3abc' + 1, 'abc' + 0, '1.5' * 2;
-- mysql 1|1|1|0|NULL|1|0
SELECT 5 = 5.0, '5' = 5, 'a' = 'A', 'a' = 'a ', NULL = NULL, NULL <=> NULL, 1 <=> NULL;
SELECT 1 < 2, 2 <= 2, 3 > 4, 3 >= 4, 1 <> 2, 1 != 1;
SELECT TRUE AND NULL, FALSE AND NULL, TRUE OR NULL, FALSE OR NULL, NOT NULL, 1 XOR 1, 1 XOR 0;
SELECT 2 BETWEEN 1 AND 3, 2 NOT BETWEEN 1 AND 3, 2 IN (1, 2), 2 NOT IN (1, NULL), 2 IN (2, NULL);
SELECT 'abc' LIKE 'A%', 'abc' LIKE '_b_', 'a%c' LIKE 'a\%c', 'abc' NOT LIKE 'x%';
SELECT NULL IS NULL, 1 IS NOT NULL, 0 IS FALSE, 1 IS TRUE, NULL IS NOT TRUE;
SELECT CASE WHEN 1 > 2 THEN 'a' WHEN 2 > 1 THEN 'b' ELSE 'c' END, CASE 3 WHEN 1 THEN 'x' WHEN 3 THEN 'y' END;
SELECT IF(1 > 0, 'yes', 'no'), IFNULL(NULL, 5), NULLIF(1, 1), NULLIF(1, 2), COALESCE(NULL, NULL, 3);
SELECT 5 & 3, 5 | 3, 5 ^ 3, 1 << 4, 256 >> 2;
SELECT CONCAT('a', 1, NULL), CONCAT('a', 1, 2.50), CONCAT_WS(',', 'a', NULL, 'b');
SELECT LENGTH('héllo'), CHAR_LENGTH('héllo'), UPPER('héllo'), LOWER('ABC'), REVERSE('abc');
SELECT SUBSTRING('abcdef', 2, 3), SUBSTRING('abcdef', -2), LEFT('abc', 2), RIGHT('abc', 2), SUBSTRING('abc' FROM 2);
SELECT TRIM('  a '), LTRIM('  a'), RTRIM('a  '), TRIM(BOTH 'x' FROM 'xxaxx'), TRIM(LEADING 'x' FROM 'xax');
SELECT REPLACE('banana', 'an', 'AN'), REPEAT('ab', 3), LPAD('7', 3, '0'), RPAD('7', 3, '-'), SPACE(2);
SELECT INSTR('foobar', 'bar'), LOCATE('o', 'foobar', 3), FIELD('b', 'a', 'b'), FIND_IN_SET('b', 'a,b,c');
SELECT HEX('abc'), HEX(255), UNHEX('616263'), MD5('a'), SHA1('a');
SELECT ABS(-5), CEIL(1.2), FLOOR(-1.2), ROUND(2.5), ROUND(-2.5), ROUND(1.2345, 2), TRUNCATE(1.999, 1), SIGN(-3);
SELECT MOD(10, 3), POW(2, 10), SQRT(16), GREATEST(1, 3, 2), LEAST('b', 'a');
SELECT CAST('12' AS SIGNED), CAST(-1 AS UNSIGNED), CAST(1.6 AS SIGNED), CAST('2024-02-30' AS DATE), CAST(5 AS CHAR), CAST('1.239' AS DECIMAL(5,2));
SELECT DATE_ADD('2024-01-31', INTERVAL 1 MONTH), DATE_SUB('2024-03-01', INTERVAL 1 DAY), '2024-01-01' + INTERVAL 36 HOUR;
SELECT DATEDIFF('2024-03-01', '2024-02-01'), YEAR('2024-05-06'), MONTH('2024-05-06'), DAY('2024-05-06');
SELECT DATE_FORMAT('2024-05-06 07:08:09', '%Y/%m/%d %H:%i:%s'), DATE('2024-05-06 07:08:09');
SELECT UNIX_TIMESTAMP('2024-01-01 00:00:00'), FROM_UNIXTIME(86400);
SELECT HOUR('07:08:09'), MINUTE('07:08:09'), SECOND('07:08:09');
SELECT 9223372036854775807 + 1;
SELECT 18446744073709551615, 18446744073709551615 + 1;
SELECT CAST(1 AS UNSIGNED) - 2;
-- mysql 1305
SELECT nosuchfunction(1);
SELECT IFNULL(1);
SELECT -9223372036854775808, 0x41, X'4142', b'1000001';
SELECT 'it''s', "double", 'a\nb', 'tab\t';
SELECT 1 AS `odd name`, 2 'two', 3 three;
-- mysql ab
SELECT 'a' 'b';
-- A constant is a year of two digits beside a column only.
CREATE TABLE years (y YEAR, t VARCHAR(40));
INSERT INTO years VALUES (2001, '0999-12-31 23:59');
SELECT y = 1, IFNULL(y, y) = 1, y IN (1, 5), IFNULL(y, y) IN (1, 5), y BETWEEN 1 AND 5, IFNULL(y, y) BETWEEN 1 AND 5 FROM years;
SELECT 1 BETWEEN y AND 2005, NULLIF(y, 1), NULLIF(IFNULL(y, y), 1), y = '1', IFNULL(y, y) = '1' FROM years;
UPDATE years SET y = t;
-- LOG does not need its second argument.
SELECT LOG(0, t + 0), LOG(2, 8), LOG(1, 2) FROM years;
-- FLOATs put together stay FLOATs.
CREATE TABLE floats (a FLOAT, b FLOAT, i TINYINT, c DOUBLE);
INSERT INTO floats VALUES (123456.789, 2, 1, 1);
SELECT CONCAT(IF(1, a, b)), CONCAT(CASE WHEN 1 THEN a ELSE i END), CONCAT(IFNULL(a, b)), CONCAT(GREATEST(a, b)), CONCAT(IF(1, a, c)), a + 0 FROM floats;
SELECT HEX(CAST(ROUND(c, 6) AS BINARY)), HEX(CAST(ROUND(c, 6) AS CHAR)) FROM floats;
-- Functions of an integer may have a digit more than its type, also where a client reads it as binary.
CREATE TABLE least (i INT, t TINYINT);
INSERT INTO least VALUES (-2147483648, -128);
SELECT ABS(i), ABS(t), ROUND(i, -1), ROUND(t, -1), CEIL(i), FLOOR(t) FROM least;
