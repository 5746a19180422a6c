package apptest

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/internal/means"
)

// Ended is how a verb ended, and what it wrote.
type Ended struct {
	Code      int
	Out, Errs string
}

// Meter runs a verb that writes metrics to a file and serves them. It tells both, and a function that interrupts it: then it
// ends, and nobody listens any more.
func Meter(t *testing.T, verb func(*app.App) *cobra.Command, file string, args ...string) (written, served string, interrupt func() Ended) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	ctx, end := context.WithTimeout(t.Context(), means.Patience)
	t.Cleanup(end)
	ended := make(chan Ended, 1)
	go func() {
		code, out, errs := Run(ctx, app.App{}, verb, append(args, "--textfile", file, "--listen", address)...)
		ended <- Ended{code, out, errs}
	}()
	var text []byte
	means.Until(t, "the metrics", func() bool {
		select {
		case e := <-ended:
			t.Fatalf("it ended: %+v", e)
		default:
		}
		text, err = os.ReadFile(file)
		return err == nil
	})
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return string(text), string(b), func() Ended {
		t.Helper()
		http.DefaultClient.CloseIdleConnections()
		end()
		e := <-ended
		if _, err := net.Dial("tcp", address); err == nil {
			t.Error("it still listens")
		}
		return e
	}
}
