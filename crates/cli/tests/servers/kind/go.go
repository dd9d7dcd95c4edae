// A server of the files of FOLDER/www: `server FOLDER PORT plain|tls|TLSv1.2|TLSv1.3`.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// A connection that counts what goes over it, inside TLS, and has the request that its log does not have yet.
type counted struct {
	net.Conn
	sent, received int
	pending        string
	isOpened       bool
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received += n
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent += n
	return n, err
}

type listener struct {
	net.Listener
	tls *tls.Config
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil && l.tls != nil {
		c = tls.Server(c, l.tls)
	}
	return &counted{Conn: c}, err
}

// A response whose status is known.
type noted struct {
	http.ResponseWriter
	status int
}

func (n *noted) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	folder, port, mode := os.Args[1], os.Args[2], os.Args[3]
	log, err := os.OpenFile(folder+"/access.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	check(err)
	var config *tls.Config
	if mode != "plain" {
		pair, err := tls.LoadX509KeyPair(folder+"/site.pem", folder+"/site.pem")
		check(err)
		only := map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}[mode]
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: only, MaxVersion: only}
		// Called at the end of each handshake, resumed or not.
		config.VerifyConnection = func(state tls.ConnectionState) error {
			version := map[uint16]string{tls.VersionTLS12: "TLSv1.2", tls.VersionTLS13: "TLSv1.3"}[state.Version]
			fmt.Fprintf(log, "opened %s %t\n", version, state.DidResume)
			return nil
		}
	}
	var open sync.WaitGroup
	type key struct{}
	files := http.FileServer(http.Dir(folder + "/www"))
	server := http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			response := &noted{w, 200}
			files.ServeHTTP(response, r)
			c := r.Context().Value(key{}).(*counted)
			c.pending = fmt.Sprint(r.Method, " ", r.URL.RequestURI(), " ", response.status)
		}),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, key{}, c)
		},
		// A response is with the socket when its connection is idle again, or closed.
		ConnState: func(conn net.Conn, state http.ConnState) {
			c := conn.(*counted)
			if c.pending != "" && (state == http.StateIdle || state == http.StateClosed) {
				first := ""
				if config == nil && !c.isOpened {
					first = " 1 - -"
				}
				fmt.Fprintf(log, "%s %d %d%s\n", c.pending, c.sent, c.received, first)
				c.pending, c.sent, c.received, c.isOpened = "", 0, 0, true
			}
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed:
				open.Done()
			}
		},
	}
	inner, err := net.Listen("tcp", "127.0.0.1:"+port)
	check(err)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go server.Serve(listener{inner, config})
	<-stop
	check(server.Shutdown(context.Background()))
	open.Wait()
}
