package host_test

import (
	"errors"
	"strings"
	"testing"

	"fettle/host"
	"fettle/host/capture"
	"fettle/host/hosttest"
)

// TestSecret: users' secrets of one-time codes are not read, and so not
// captured, whoever asks; their mode is.
func TestSecret(t *testing.T) {
	src, _, err := hosttest.Parse(
		[]byte(
			"-- root/home/alice/.google_authenticator --\nJBSWY3DPEHPK3PXP\n-- root/home/alice/.google_authenticator~x --\nJBSWY3DPEHPK3PXP\n",
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	rec := capture.NewRecorder(src)
	h := host.New(rec)
	for _, name := range []string{"/home/alice/.google_authenticator", "/home/alice/.google_authenticator~x",
		"/home/alice/x/../.google_authenticator"} {
		b, err := h.ReadFile(t.Context(), name)
		if b != nil || !errors.Is(err, host.ErrSecret) || host.IsAbsent(err) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := h.Stat(t.Context(), "/home/alice/.google_authenticator"); err != nil {
		t.Error(err)
	}
	var out strings.Builder
	if err := rec.Capture().Write(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "JBSWY3DP") {
		t.Error("the capture holds the secret")
	}
}
