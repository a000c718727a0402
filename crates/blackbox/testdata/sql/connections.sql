-- Connections in other character sets, introducers, and the character sets of variables. This file is UTF-8: a connection in latin1 takes it for that.

CREATE TABLE cn (id INT PRIMARY KEY, l VARCHAR(20) CHARACTER SET latin1, u VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, u3 VARCHAR(20) CHARACTER SET utf8mb3, a VARCHAR(20) CHARACTER SET ascii, b VARBINARY(20), t TEXT CHARACTER SET latin1, e ENUM('é', 'ж') CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, KEY (l), KEY (u)) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
INSERT INTO cn VALUES (1, 'é', 'é😀ж', 'éж', 'a', 'é', 'é€', 'ж'), (2, 'Z', 'z ', 'z', 'z', 'z', 'z', 'é');

-- What variables say.
SET NAMES latin1;
SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
SET NAMES latin1 COLLATE latin1_german1_ci;
SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
SET NAMES utf8;
SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
SET NAMES 'ascii';
SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
SET CHARACTER SET latin1;
SELECT @@character_set_client, @@character_set_results, @@character_set_connection = @@character_set_database, @@collation_connection = @@collation_database;
SET CHARSET utf8mb4;
SELECT @@character_set_client, @@character_set_results;
SET NAMES binary;
SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
SET collation_connection = latin1_bin;
SELECT @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection;
SET character_set_connection = utf8mb3;
SELECT @@collation_connection;
SET character_set_results = NULL;
SELECT @@character_set_results;
SET character_set_results = binary, character_set_client = latin1;
SELECT @@character_set_results, @@character_set_client;
SHOW VARIABLES LIKE 'character\_set\_client';
SHOW VARIABLES LIKE 'character\_set\_results';
SET NAMES nosuch;
SET NAMES latin1 COLLATE utf8mb4_bin;
SET NAMES latin1 COLLATE nosuch;
SET CHARACTER SET nosuch;
SET character_set_client = NULL;
SET character_set_connection = NULL;
SET collation_connection = nosuch;

-- Literals, and what functions make of no text.
SET NAMES latin1;
SELECT 'é' AS t, HEX('é') AS h, LENGTH('é') AS n, CHARSET('é') AS c, COLLATION('é') AS o;
SELECT COLLATION(HEX(1)) AS a, COLLATION(CONCAT(1, 2)) AS b, COLLATION(CAST(1 AS CHAR)) AS c, COLLATION(DATE_FORMAT('2024-01-02', '%Y')) AS d, COLLATION(SPACE(2)) AS e, COLLATION(FORMAT(1, 2)) AS f, COLLATION(MD5(1)) AS g, COLLATION(DAYNAME('2024-01-02')) AS h, COLLATION(REPEAT('a', 2)) AS i, COLLATION(TO_BASE64('a')) AS j, COLLATION(BIN(1)) AS k, COLLATION(CONV(1, 10, 2)) AS m, COLLATION(ELT(1, 2, 3)) AS n, COLLATION(UNHEX('41')) AS o, COLLATION(CAST('a' AS CHAR CHARACTER SET utf8mb3)) AS p;
SELECT HEX(CAST('é' AS CHAR)) AS a, HEX(CONVERT('é' USING utf8mb4)) AS b, HEX(CAST('é' AS CHAR CHARACTER SET utf8mb3)) AS c, HEX(CONCAT('é', 1)) AS d, HEX(UPPER('é')) AS e, REVERSE('é') AS f, CHAR_LENGTH('é') AS g, HEX(LEFT('é', 1)) AS h;
SELECT id, l, u, u3, a, b, t, e FROM cn ORDER BY id;
SELECT id FROM cn WHERE l = 'Ã©' ORDER BY id;
SELECT id FROM cn WHERE l = 'z' ORDER BY id;
SELECT id FROM cn WHERE u LIKE 'Z%' ORDER BY id;
SELECT id FROM cn WHERE a = 'Z' ORDER BY id;
SELECT 'a' = 'A ' AS a, 'ä' = 'a' AS b, 'a' = 'A' COLLATE latin1_bin AS c, 'a' < 'B' AS d;
SELECT 'a' = 'a' COLLATE utf8mb4_bin;
INSERT INTO cn VALUES (3, 'é', 'é', 'é', 'x', 'é', 'é', NULL);
SELECT HEX(l), HEX(u), HEX(u3), HEX(b), HEX(t) FROM cn WHERE id = 3;
UPDATE cn SET u = CONCAT(u, 'ÿ'), b = 'ÿ' WHERE l = 'é';
SELECT id, HEX(u), HEX(b) FROM cn WHERE id = 3;
SELECT id FROM cn WHERE u IN ('éÿ', 'x') ORDER BY id;
SELECT id FROM cn WHERE u BETWEEN 'y' AND 'zz' ORDER BY id;
SELECT GROUP_CONCAT(l ORDER BY id SEPARATOR 'é') AS g FROM cn;
SELECT l, COUNT(*) FROM cn GROUP BY l ORDER BY MIN(id);
SELECT HEX(MAX(u)) AS m FROM cn;
SELECT 'é' AS a UNION SELECT l FROM cn WHERE id = 2;
SELECT CHARSET(IF(id > 1, l, 'x')) AS a, CHARSET(IFNULL(u, 'x')) AS b, CHARSET(CONCAT(l, 'x')) AS c, CHARSET(CONCAT(u, 'x')) AS d FROM cn ORDER BY id;
SELECT COERCIBILITY('a') AS a, COERCIBILITY(HEX(1)) AS b, COERCIBILITY(l) AS c FROM cn LIMIT 1;
SET NAMES latin1 COLLATE latin1_bin;
SELECT 'a' = 'A' AS a, 'a' = 'a ' AS b, CONCAT('a', '') = 'A' AS c, HEX(255) = 'ff' AS d, l = 'z' AS e FROM cn ORDER BY id;
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
SELECT 'a' = 'A' AS a, 'a' = 'a ' AS b, 'ä' = 'a' AS c, COLLATION('a') AS d, COLLATION(CONCAT('a', 1)) AS e, u = 'Z' AS f FROM cn ORDER BY id;
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
SELECT 'a' = 'A' AS a, 'a' = 'a ' AS b, 'ä' = 'a' AS c, COLLATION('a') AS d, 'ß' = 's' AS e, 'ß' = 'ss' AS f;

-- What is lost on the way.
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
SET character_set_results = latin1;
SELECT id, u, u3, e FROM cn ORDER BY id;
SET character_set_results = ascii;
SELECT id, l, u, u3, e FROM cn ORDER BY id;
SET character_set_results = utf8mb3;
SELECT id, l, u, u3, e FROM cn ORDER BY id;
SET character_set_results = NULL;
SELECT id, l, u, u3, t, e FROM cn ORDER BY id;
SET character_set_results = binary;
SELECT id, l, u, u3, t, e FROM cn ORDER BY id;
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
SET character_set_connection = latin1;
SELECT 'é😀' AS t, HEX('é😀ж') AS h, CHARSET('é') AS c;
INSERT INTO cn (id, u) VALUES (4, 'é😀');
SELECT HEX(u) FROM cn WHERE id = 4;
SELECT id FROM cn WHERE u = 'é😀';

-- Bytes.
SET NAMES binary;
SELECT LENGTH('é') AS n, CHARSET('é') AS c, HEX('é') AS h, COLLATION(HEX(1)) AS a, COLLATION(CAST(1 AS CHAR)) AS b, COLLATION(CONCAT(1, 2)) AS d;
SELECT id, l, u, u3, b, t, e FROM cn ORDER BY id;
INSERT INTO cn (id, l, u, b, t, e) VALUES (5, 'é', 'é', 'é', 'é', 'é');
SELECT HEX(l), HEX(u), HEX(b), HEX(t), HEX(e) FROM cn WHERE id = 5;
SELECT id FROM cn WHERE u = 'Z' ORDER BY id;
SELECT id FROM cn WHERE l = 'Ã©' ORDER BY id;
SELECT id FROM cn WHERE e = 'é' ORDER BY id;
SELECT 'a' = 'A' AS a, 'a' = 'a ' AS b, '2024-01-02' = DATE'2024-01-02' AS c, '10' + 5 AS d;
SELECT id FROM cn WHERE u LIKE 'Z%' ORDER BY id;
SELECT DATE_ADD('2024-01-31', INTERVAL '1' MONTH) AS a, STR_TO_DATE('02,01,2024', '%d,%m,%Y') AS b, SUBSTRING('abc', 2) AS c, LOCATE('c', 'abc') AS d, CONCAT('a', 1) AS e;
DELETE FROM cn WHERE id IN (3, '4', 5);

-- Introducers.
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
SELECT _latin1 X'E9' AS a, HEX(_latin1'é') AS b, LENGTH(_latin1'é') AS c, CHAR_LENGTH(_latin1'é') AS d, CHARSET(_latin1'é') AS e, COLLATION(_latin1'é') AS f, HEX(_binary'é') AS g, HEX(_utf8mb3'é') AS h, CHARSET(_utf8mb3'é') AS i, CHARSET(_ascii'a') AS j, CHARSET(_binary'a') AS k;
SELECT HEX(CONCAT(_latin1 X'E9', 'é')) AS a, CHARSET(CONCAT(_latin1 X'E9', 'é')) AS b, CHARSET(CONCAT(_latin1'e', 'é')) AS c, HEX(CONCAT(_binary'é', _latin1 X'E9')) AS d;
SELECT _latin1'é' = 'é' AS a, _latin1 X'E9' = 'é' AS b, _latin1 X'E9' = 'É' AS c, 'É' = _latin1 X'E9' COLLATE latin1_bin AS d, _latin1 X'E9' = 'é' COLLATE utf8mb4_bin AS e, _latin1 X'E9' COLLATE latin1_german1_ci = 'E' AS f;
SELECT _utf8mb4 X'C3A9' AS a, _utf8mb4 0xC3A9 AS b, HEX(_latin1 b'11101001') AS c, COERCIBILITY(_latin1'a') AS d, _latin1'a' 'b' AS e;
SELECT _utf8mb4 X'E9';
SELECT _utf8mb3 X'F09F9880';
SELECT _latin1'a' COLLATE utf8mb4_bin;
SELECT id FROM cn WHERE l = _latin1 X'E9' ORDER BY id;
SELECT id FROM cn WHERE l = _utf8mb4'é' ORDER BY id;
SELECT id FROM cn WHERE u > _latin1'y' ORDER BY id;
SELECT id FROM cn WHERE l = _binary'z' ORDER BY id;
INSERT INTO cn (id, l, u, b) VALUES (6, _utf8mb4'é', _latin1 X'E9', _latin1 X'E9'), (7, _latin1'é', _latin1'é', _utf8mb4'é'), (8, _binary X'E9', _binary'é', _binary'é');
SELECT id, HEX(l), HEX(u), HEX(b) FROM cn WHERE id > 5 ORDER BY id;
SET NAMES latin1;
SELECT HEX(_binary'é') AS a, HEX(_utf8mb4'Ã©') AS b, HEX(_latin1'é') AS c, HEX(_utf8mb4'é') AS d, HEX(_binary X'C3A9') AS e;
SELECT HEX(CONCAT(_utf8mb4'é', 'é')) AS a;
INSERT INTO cn (id, b) VALUES (9, _binary'é'), (10, X'C3A9');
SELECT id, HEX(b) FROM cn WHERE id > 8 ORDER BY id;
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;

-- Variables keep what they were set to.
SET @a = _latin1 X'E9', @b = 'é' COLLATE utf8mb4_bin, @c = X'E9', @d = 5;
SELECT @a AS a, HEX(@a) AS b, CHARSET(@a) AS c, COLLATION(@a) AS d, COERCIBILITY(@a) AS e, LENGTH(@a) AS f;
SELECT COLLATION(@b) AS a, @b = 'É' AS b, @a = 'É' AS c, CHARSET(@c) AS d;
SELECT HEX(CONCAT(@a, 'x')) AS a, HEX(CONCAT(@a, 'é')) AS b, @a LIKE 'É' AS c;
SET @a = 'é';
SELECT HEX(@a) AS a, CHARSET(@a) AS b, COLLATION(@a) AS c;
SELECT l FROM cn WHERE id = 1 INTO @e;
SELECT HEX(@e) AS a, COLLATION(@e) AS b;
SET @f = (SELECT t FROM cn WHERE id = 1);
SELECT HEX(@f) AS a, COLLATION(@f) AS b;
SELECT HEX(@g := _latin1 X'E9') AS a;
SELECT HEX(@g) AS a, CHARSET(@g) AS b;
INSERT INTO cn (id, l, u, b) VALUES (11, @e, @e, @e);
SELECT HEX(l), HEX(u), HEX(b) FROM cn WHERE id = 11;

-- Definitions.
CREATE TABLE cnt (a TEXT(255) CHARACTER SET latin1, b TEXT(256) CHARACTER SET latin1, c TEXT(85) CHARACTER SET utf8mb3, d TEXT(86) CHARACTER SET utf8mb3, e TEXT(63) CHARACTER SET utf8mb4, f TEXT(64) CHARACTER SET utf8mb4, g TEXT(65535) CHARACTER SET ascii, h TEXT(65535) CHARACTER SET utf8mb4, i TEXT(255) CHARACTER SET binary, j TEXT(100), k BLOB(256)) CHARACTER SET latin1;
SELECT COLUMN_NAME, COLUMN_TYPE FROM information_schema.columns WHERE TABLE_NAME = 'cnt' AND TABLE_SCHEMA = 'same' ORDER BY ORDINAL_POSITION;
CREATE TABLE cnd (a VARCHAR(5) CHARACTER SET utf8mb4 DEFAULT _latin1 X'E9', b VARCHAR(5) CHARACTER SET latin1 DEFAULT _utf8mb4'é', c VARCHAR(5) CHARACTER SET utf8mb4 DEFAULT _latin1'é');
INSERT INTO cnd () VALUES ();
SELECT HEX(a), HEX(b), HEX(c) FROM cnd;
SET NAMES latin1;
ALTER TABLE cnd ADD COLUMN d VARCHAR(5) CHARACTER SET utf8mb4 NOT NULL DEFAULT 'é';
SELECT HEX(d) FROM cnd;
CREATE TABLE `tÿ` (`cÿ` INT COMMENT 'ÿ');
SET NAMES utf8mb4 COLLATE utf8mb4_general_ci;
SELECT TABLE_NAME, COLUMN_NAME, COLUMN_COMMENT FROM information_schema.columns WHERE TABLE_NAME LIKE 't_ÿ' OR TABLE_NAME LIKE 'tÃ_';
DROP TABLE `tÃ¿`;
DROP TABLE cn, cnt, cnd;
