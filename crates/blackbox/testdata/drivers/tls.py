"""MySQL's own client library over TLS, by way of Connector/Python: PORT CA USER PASSWORD. Prints what the test looks for."""

import sys

# Before anything loads another OpenSSL than the library's.
import _mysql_connector
import mysql.connector


def connect(password):
    return mysql.connector.connect(
        host="127.0.0.1", port=int(port), user=user, password=password, use_pure=False,
        ssl_ca=ca, ssl_verify_cert=True, ssl_verify_identity=True,
    )


def value(cursor, sql, column=0):
    cursor.execute(sql)
    return cursor.fetchone()[column]


port, ca, user, right = sys.argv[1:]
connection = connect(right)
assert connection.__class__.__name__ == "CMySQLConnection", connection.__class__
cursor = connection.cursor(prepared=True)
cursor.execute("CREATE DATABASE IF NOT EXISTS python")
cursor.execute("CREATE TABLE python.t (id INT PRIMARY KEY, body LONGTEXT)")
connection.start_transaction()
for id in range(1000):
    cursor.execute("INSERT INTO python.t VALUES (?, ?)", (id, "x" * (id * 5)))
connection.commit()
cursor = connection.cursor()
print(value(cursor, "SELECT CONCAT(COUNT(*), ' rows of ', SUM(LENGTH(body)), ' bytes') FROM python.t"))
print(len(value(cursor, "SELECT REPEAT('y', 9000000)")))
print(value(cursor, "SHOW STATUS LIKE 'Ssl_version'", 1))
try:
    connect("wrong")
    print("no refusal")
except mysql.connector.Error as refused:
    print("refused with", refused.errno)
