-- Every event is a connection: a login, one statement, and the end.
sysbench.cmdline.options = {
   table_size = {"Number of different keys", 10000},
   tables = {"Number of tables; there is one", 1},
   mysql_storage_engine = {"Storage engine of the table", "innodb"},
}

function thread_init()
   driver = sysbench.sql.driver()
end

function event()
   local connection = driver:connect()
   connection:query("DO 1")
   connection:disconnect()
end
