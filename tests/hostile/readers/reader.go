// Tells of each request what Go's net/http has read: see ../streams.py.
//
//	reader PORT HEAD_BYTES
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

func read(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	text := append([]byte(r.Method+" "+r.RequestURI+"\n"), body...)
	w.Header().Set("X-Read", fmt.Sprintf("%x", sha256.Sum256(text)))
}

func main() {
	headBytes, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	// No ServeMux: it would redirect paths that it finds odd.
	server := http.Server{
		Addr:           "127.0.0.1:" + os.Args[1],
		Handler:        http.HandlerFunc(read),
		MaxHeaderBytes: headBytes,
	}
	panic(server.ListenAndServe())
}
