// Go's own HTTP servers: `server FOLDER HOST PORT TLS_PORT CERTIFICATE`, a line in
// FOLDER/access.log a request.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	folder, host, certificate := os.Args[1], os.Args[2], os.Args[5]
	log, err := os.OpenFile(folder+"/access.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(log, "%s %s\n", r.Method, r.URL.Path)
		io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/early":
			w.Header().Set("Link", "</a.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
		case "/chunked":
			io.WriteString(w, "hel")
			w.(http.Flusher).Flush()
			io.WriteString(w, "lo\n")
			return
		}
		io.WriteString(w, "hello\n")
	}
	plain := &http.Server{Addr: host + ":" + os.Args[3], Handler: http.HandlerFunc(answer)}
	secure := &http.Server{Addr: host + ":" + os.Args[4], Handler: http.HandlerFunc(answer)}
	var serving sync.WaitGroup
	serving.Add(2)
	go func() { defer serving.Done(); fmt.Println(plain.ListenAndServe()) }()
	go func() {
		defer serving.Done()
		fmt.Println(secure.ListenAndServeTLS(certificate+"/certificate.pem", certificate+"/key.pem"))
	}()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	plain.Shutdown(context.Background())
	secure.Shutdown(context.Background())
	serving.Wait()
}
