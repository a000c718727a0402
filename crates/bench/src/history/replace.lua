-- REPLACE of a row of two integers by a prepared statement, one row in each transaction.

sysbench.cmdline.options = {
   table_size = {"Number of different keys", 10000},
   tables = {"Number of tables; there is one", 1},
   mysql_storage_engine = {"Storage engine of the table", "innodb"},
}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE t (a INT NOT NULL PRIMARY KEY, b INT NOT NULL) ENGINE=" .. sysbench.opt.mysql_storage_engine)
   con:disconnect()
end

sysbench.cmdline.commands = { prepare = {prepare} }

function thread_init()
   con = sysbench.sql.driver():connect()
   statement = con:prepare("REPLACE INTO t (a,b) VALUES (?,?)")
   a = statement:bind_create(sysbench.sql.type.INT)
   b = statement:bind_create(sysbench.sql.type.INT)
   statement:bind_param(a, b)
end

function event()
   a:set(sysbench.rand.uniform(1, sysbench.opt.table_size))
   b:set(sysbench.rand.uniform(1, 1000000))
   statement:execute()
end

function thread_done()
   statement:close()
   con:disconnect()
end
