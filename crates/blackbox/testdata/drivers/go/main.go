// go-sql-driver over TLS: PORT CA USER PASSWORD. Prints what the test looks for.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

func open(port, user, password string) *sql.DB {
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(127.0.0.1:%s)/?tls=cohort", user, password, port))
	check(err)
	return db
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	port, file, user, password := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	pem, err := os.ReadFile(file)
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	check(mysql.RegisterTLSConfig("cohort", &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}))
	db := open(port, user, password)
	_, err = db.Exec("CREATE DATABASE IF NOT EXISTS go")
	check(err)
	_, err = db.Exec("CREATE TABLE go.t (id INT PRIMARY KEY, body LONGTEXT)")
	check(err)
	tx, err := db.Begin()
	check(err)
	insert, err := tx.Prepare("INSERT INTO go.t VALUES (?, ?)")
	check(err)
	for id := 0; id < 1000; id++ {
		_, err = insert.Exec(id, strings.Repeat("x", id*5))
		check(err)
	}
	check(tx.Commit())
	var said string
	check(db.QueryRow("SELECT CONCAT(COUNT(*), ' rows of ', SUM(LENGTH(body)), ' bytes') FROM go.t").Scan(&said))
	fmt.Println(said)
	check(db.QueryRow("SELECT REPEAT('y', 9000000)").Scan(&said))
	fmt.Println(len(said))
	var name string
	check(db.QueryRow("SHOW STATUS LIKE 'Ssl_version'").Scan(&name, &said))
	fmt.Println(said)
	var refused *mysql.MySQLError
	if err = open(port, user, "wrong").Ping(); errors.As(err, &refused) {
		fmt.Println("refused with", refused.Number)
	} else {
		fmt.Println("no refusal:", err)
	}
}
