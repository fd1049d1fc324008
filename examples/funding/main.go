// Program funding is a funding service with a ledger of its own (docs/rules/funding.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "funding:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:8090", "address of this service; keep it on loopback, behind a proxy with TLS if the venue is elsewhere")
	admin := flag.String("venue", "http://127.0.0.1:8082", "operator's listener of the venue")
	db := flag.String("db", "funding.db", "file of the ledger")
	dir := flag.String("bank", "bank", "folder of the bank for trying: a file for each payment")
	flag.Parse()
	secret, err := parseSecret(os.Getenv("DX_FUNDING_SECRET"))
	if err != nil {
		return fmt.Errorf("DX_FUNDING_SECRET: %w", err)
	}
	token := os.Getenv("DX_OPERATOR_TOKEN")
	if token == "" {
		return errors.New("DX_OPERATOR_TOKEN must be the token of an operator of the venue with the role treasurer")
	}
	if err := os.MkdirAll(*dir, 0o700); err != nil {
		return err
	}
	ledger, err := openLedger(*db)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := newService(ledger, folderBank{*dir}, newVenue(*admin, token), secret, slog.Default())
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return errors.Join(err, ledger.db.Close())
	}
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	var work sync.WaitGroup
	work.Go(func() { s.run(ctx) })
	work.Go(func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background()) // Serve returns
	})
	slog.Info("ready", "listen", l.Addr().String())
	if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	stop()
	work.Wait()
	return errors.Join(err, ledger.db.Close())
}
