-- Texts that are read as dates and times: where a part ends, where blanks may stand, what is left over.
SET sql_mode = '';
CREATE TABLE t (id INT PRIMARY KEY, d DATETIME(6), t TIME(6));
INSERT INTO t (id, d) VALUES (1, '2024-02-292024-02-29 12:30:00');
INSERT INTO t (id, d) VALUES (2, '2024-02-2920 24'), (3, '2024-02-29202402'), (4, '20240229 123045');
INSERT INTO t (id, d) VALUES (5, '2024-02-29T12:30:45'), (6, '20240229T123045'), (7, '2024-02-29-12-30'), (8, '2024 02 29');
INSERT INTO t (id, d) VALUES (9, '2024-02-29 12:30:45.123456,'), (10, '2024-02-29 12:30:45 x'), (11, '10:11:12.5.6'), (12, '8-1-9');
INSERT INTO t (id, t) VALUES (20, '12:30:002024-02-29'), (21, '12:30:001'), (22, '12 :30'), (23, '-1 12:30:45'), (24, '1 12');
INSERT INTO t (id, t) VALUES (25, '12x'), (26, '12:30:45x'), (27, '123045.5'), (28, '4294967296'), (29, '34 22:59:59');
INSERT INTO t (id, t) VALUES (30, '2024-02-29 12:30:45'), (31, '20240229123045.5'), (32, '12:60:00'), (33, 'x'), (34, '12:30:45e5');
SELECT * FROM t ORDER BY id;
-- mysql 2024-02-29 05:00:00
SELECT CAST('240229.5' AS DATETIME);
-- mysql 2024-02-29 12:30:00
SELECT CAST('2024-02-29 12::30' AS DATETIME);
-- mysql 00:20:24
SELECT CAST('2024-02-29T12:30:45' AS TIME);
-- mysql 00:12:00
SELECT CAST(':12' AS TIME);
-- mysql NULL
SELECT CAST('+12:30' AS TIME);
