# Optimizer hints: comments whose contents never make a statement wrong.

## accepted
SELECT /*+ */ 1
SELECT /*+ JOIN_ORDER(a, b) JOIN_PREFIX(a) JOIN_SUFFIX(b) */ * FROM a, b
SELECT /*+ JOIN_FIXED_ORDER() */ * FROM a JOIN b
SELECT /*+ QB_NAME(q) JOIN_ORDER(@q a, b) NO_BNL(a@q, b) */ * FROM a, b
SELECT /*+ INDEX(t i, j) NO_JOIN_INDEX(@q t) ORDER_INDEX(t PRIMARY) */ * FROM t
SELECT /*+ nonsense ( */ 1
SELECT /*+ SET_VAR(sort_buffer_size = 16M) SET_VAR(sql_mode = 'ANSI') */ 1
SELECT 1 /*+ MAX_EXECUTION_TIME(1) */
SELECT /*+ MAX_EXECUTION_TIME(1) */ DISTINCT a FROM t UNION (SELECT /*+ BKA() */ 2)
INSERT /*+ SET_VAR(unique_checks = OFF) */ INTO t VALUES (1)
REPLACE /*+ NO_MERGE() */ t SELECT /*+ SEMIJOIN(FIRSTMATCH) */ 1
UPDATE /*+ NO_INDEX(t) */ t SET a = 1
DELETE /*+ JOIN_INDEX(t) */ FROM t
EXPLAIN SELECT /*+ INDEX(t) */ * FROM t

## accepted, but not by MariaDB 10.11
WITH c AS (SELECT /*+ QB_NAME(c) */ 1) DELETE /*+ RESOURCE_GROUP(r) */ FROM t

## refused
SELECT /*+ BKA() */
SELECT /*+ BKA()
