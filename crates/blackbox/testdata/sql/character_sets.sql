-- Columns of utf8mb4, utf8mb3, latin1 and ascii: what they take, how they compare, and what bytes they have.

CREATE TABLE cs (id INT PRIMARY KEY AUTO_INCREMENT, l VARCHAR(5) CHARACTER SET latin1, a VARCHAR(5) CHARACTER SET ascii, u3 VARCHAR(5) CHARACTER SET utf8mb3, t TINYTEXT CHARACTER SET latin1, c CHAR(4) CHARACTER SET latin1 COLLATE latin1_bin, en ENUM('é','z') CHARACTER SET latin1, st SET('é','z') CHARACTER SET latin1, bb VARBINARY(20), u4 VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, KEY (l), KEY (a), KEY (c), KEY (u4)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;

-- What a character set does not have.
INSERT INTO cs (l) VALUES ('aбв');
INSERT INTO cs (a) VALUES ('é');
INSERT INTO cs (a) VALUES ('abcdeé');
INSERT INTO cs (u3) VALUES ('a😀xyzä');
INSERT INTO cs (l) VALUES ('😀');
INSERT INTO cs (u3) VALUES (x'61f09f9880');
INSERT INTO cs (u3) VALUES (x'6180');
-- mysql 1366
INSERT INTO cs (a) VALUES (x'80e9');
-- status
INSERT INTO cs (l) VALUES (x'80e9');
-- status
DELETE FROM cs;

ALTER TABLE cs AUTO_INCREMENT = 101;
-- status
INSERT INTO cs (id, l, a, u3, t, c, en, st, u4) VALUES (1, 'é€ü', 'abc', 'éжя', 'ñandú', 'Ä ', 'é', 'é,z', 'Straße'), (2, 'É', 'ABC', 'ЖЯ', 'x', 'ä', 'z', 'z', 'STRASSE'), (3, 'z', 'z', 'z', 'z', 'z', 2, 1, 'z'), (4, 'y', 'y', 'y', 'y', 'y', 1, 3, 'ÿ'), (5, 'Ü', '', '', '', 'Ü', 1, 2, 'Æ'), (6, x'80e9', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
UPDATE cs SET bb = l;

-- Their bytes.
SELECT id, l, HEX(l), LENGTH(l), CHAR_LENGTH(l), BIT_LENGTH(l), MD5(l), SHA1(l), CRC32(l), TO_BASE64(l), ORD(l), ASCII(l), HEX(bb) FROM cs ORDER BY id;
SELECT id, HEX(u3), LENGTH(u3), HEX(t), HEX(c), LENGTH(c), HEX(en), en, HEX(st), st, en + 0 FROM cs ORDER BY id;
SELECT HEX(UPPER(l)), HEX(LOWER(l)), REVERSE(l), HEX(LEFT(l, 1)), HEX(SUBSTRING(l, 2)), HEX(REPEAT(l, 2)), HEX(RPAD(l, 5, 'ü')), HEX(INSERT(l, 1, 1, 'ü')), HEX(TRIM(c)) FROM cs ORDER BY id;
SELECT HEX(CONVERT(l USING utf8mb4)), HEX(CAST(l AS BINARY)), HEX(CONCAT(l, u3)), HEX(CONCAT(l, bb)), HEX(CONCAT(x'00', l)), HEX(CONCAT(l, '-', a)) FROM cs ORDER BY id;
SELECT CHARSET(CONCAT(l, '-', a)), COLLATION(CONCAT(l, '-', a)), CHARSET(CONCAT(l, u3)), CHARSET(CONCAT(l, bb)), CHARSET(IF(id > 2, l, 'x')) FROM cs ORDER BY id;
SELECT HEX(IFNULL(l, 'é')), HEX(COALESCE(l, u3)), HEX(NULLIF(l, 'z')), HEX(CASE WHEN id > 2 THEN l ELSE bb END), HEX(IF(id > 2, l, 'x')) FROM cs ORDER BY id;
SELECT HEX(MAX(l)), HEX(MIN(l)), COUNT(DISTINCT l) FROM cs;
-- status
SELECT HEX(CONVERT('é€ж' USING latin1)), CHARSET(CONVERT('é' USING latin1));
SELECT HEX(CAST('é' AS CHAR CHARACTER SET latin1)), CONVERT(x'e9' USING latin1), HEX(CONVERT(x'e9' USING latin1)), LENGTH(CONVERT(x'e9' USING latin1));

-- How they compare.
SELECT id, l FROM cs ORDER BY l, id;
SELECT id, c FROM cs ORDER BY c, id;
SELECT id, u4 FROM cs ORDER BY u4, id;
-- unordered
SELECT MIN(id), COUNT(*) FROM cs GROUP BY l;
SELECT id FROM cs WHERE l = 'é' ORDER BY id;
SELECT id FROM cs WHERE l = 'É ' ORDER BY id;
SELECT id FROM cs WHERE l IN ('y', 'Z') ORDER BY id;
SELECT id FROM cs WHERE l LIKE 'é%' ORDER BY id;
SELECT id FROM cs WHERE l LIKE '%€%' ORDER BY id;
SELECT id FROM cs WHERE c = 'ä' ORDER BY id;
SELECT id FROM cs WHERE l = x'E9' ORDER BY id;
SELECT id FROM cs WHERE l = BINARY 'é' ORDER BY id;
SELECT id FROM cs WHERE a = 'Abc' ORDER BY id;
SELECT id FROM cs WHERE u4 = 'strasse' ORDER BY id;
SELECT id FROM cs WHERE u4 LIKE 'stra%' ORDER BY id;
SELECT id FROM cs WHERE l > 'a' AND l < 'z' ORDER BY id;
SELECT id FROM cs WHERE l BETWEEN 'y' AND 'z' ORDER BY id;
SELECT id FROM cs WHERE en = 'É' ORDER BY id;
SELECT id FROM cs WHERE l = u3 ORDER BY id;
SELECT id FROM cs WHERE l = u4 ORDER BY id;
SELECT id FROM cs WHERE a = l ORDER BY id;
SELECT l = bb, bb = l, FIELD('É', l), FIND_IN_SET('é', st), INSTR(l, 'ü'), LOCATE('€', l), REPLACE(l, 'é', 'x'), STRCMP(l, 'É') FROM cs ORDER BY id;
SELECT id FROM cs ORDER BY l COLLATE latin1_bin, id;
SELECT l COLLATE utf8mb4_bin FROM cs;
SELECT 'a' COLLATE latin1_bin;
SELECT 'é' = 'e' COLLATE utf8mb4_unicode_ci, 'Æ' = 'AE' COLLATE utf8mb4_unicode_ci, 'Æ' = 'AE' COLLATE utf8mb4_unicode_520_ci, 'ł' = 'l' COLLATE utf8mb4_unicode_520_ci, 'ß' = 'ss' COLLATE utf8mb4_unicode_ci;
SELECT 'a ' = 'a' COLLATE utf8mb4_unicode_ci, '😀' = '😁' COLLATE utf8mb4_unicode_ci AS older, '😀' = '😁' COLLATE utf8mb4_unicode_520_ci AS newer, '' = '\t' COLLATE utf8mb4_unicode_ci;
SELECT CONCAT(l, 'ж') FROM cs WHERE id = -1;

-- Keys.
CREATE TABLE csp (l VARCHAR(10) CHARACTER SET latin1 PRIMARY KEY, v INT);
INSERT INTO csp VALUES ('é', 1), ('ü', 2), ('€', 3), ('a', 4), ('Z', 5);
INSERT INTO csp VALUES ('É', 9);
INSERT INTO csp VALUES ('É', 9) ON DUPLICATE KEY UPDATE v = 10;
REPLACE INTO csp VALUES ('Ü', 7);
SELECT l, HEX(l), v FROM csp ORDER BY l;
UPDATE csp SET l = 'ö' WHERE l = 'é';
SELECT l, v FROM csp ORDER BY l;
DELETE FROM csp WHERE l = 'Ö';
SELECT l, v FROM csp ORDER BY l;

-- Definitions.
CREATE TABLE csd (a VARCHAR(5) CHARACTER SET latin1 DEFAULT 'é', b CHAR(2) CHARACTER SET latin1 NOT NULL DEFAULT 'ü', c ENUM('ä','ö') CHARACTER SET latin1 DEFAULT 'ö');
INSERT INTO csd () VALUES ();
SELECT a, HEX(a), b, HEX(b), c, HEX(c) FROM csd;
CREATE TABLE csx (a VARCHAR(3) CHARACTER SET utf8mb3 COLLATE utf8mb4_bin);
CREATE TABLE csx (a VARCHAR(3) CHARACTER SET koi8x);
CREATE TABLE csx (a VARCHAR(3) COLLATE latin1_nix);
CREATE TABLE csx (a VARCHAR(65536) CHARACTER SET latin1);
CREATE TABLE csx (a VARCHAR(21846) CHARACTER SET utf8mb3);
CREATE TABLE csx (a VARCHAR(5) CHARACTER SET latin1 DEFAULT 'ж');
CREATE TABLE csb (a VARCHAR(10), b CHAR(3), c TEXT) CHARACTER SET binary;
SELECT COLUMN_NAME, CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH FROM information_schema.columns WHERE TABLE_NAME IN ('cs', 'csb', 'csd') AND DATA_TYPE <> 'int' ORDER BY TABLE_NAME, ORDINAL_POSITION;

-- Without a strict mode.
SET sql_mode = '';
INSERT INTO csd (a) VALUES ('aбвé');
INSERT INTO csd (a) VALUES (CONCAT('abcd', 'ééж'));
INSERT INTO cs (id, u3, t) VALUES (7, 'a😀b', REPEAT('é', 256));
SELECT HEX(a) FROM csd ORDER BY a;
SELECT HEX(u3), LENGTH(t), CHAR_LENGTH(t) FROM cs WHERE id = 7;
SET sql_mode = DEFAULT;
-- Bytes and bits are those of the text's character set.
CREATE TABLE csby (id INT PRIMARY KEY, l VARCHAR(9) CHARACTER SET latin1, u VARCHAR(9), e ENUM('é','ü') CHARACTER SET latin1, b BLOB, vb VARBINARY(9), bits BIT(12), wide BIT(64));
INSERT INTO csby (id, l, u, e) VALUES (1, 'é', 'é', 'ü');
UPDATE csby SET b = l, vb = CONCAT(l), bits = l, wide = u;
SELECT HEX(b), HEX(vb), HEX(bits), HEX(wide) FROM csby;
UPDATE csby SET b = e, vb = e, bits = e, wide = NULLIF(e, 'x');
SELECT HEX(b), HEX(vb), HEX(bits), HEX(wide) FROM csby;
INSERT INTO csby (id, b, vb, bits, wide) SELECT 2, l, e, l, u FROM csby;
INSERT INTO csby (id, b, vb, bits) SELECT 3, u, l, e FROM csby WHERE id = 1 UNION ALL SELECT 4, NULL, l, 1 FROM csby WHERE id = 1;
INSERT INTO csby (id, l) VALUES (2, 'ö') ON DUPLICATE KEY UPDATE bits = VALUES(l), vb = VALUES(l);
SELECT id, HEX(b), HEX(vb), HEX(bits), HEX(wide) FROM csby ORDER BY id;
DROP TABLE cs, csp, csd, csb, csby;
