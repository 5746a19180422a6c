package counters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/gosnmp/gosnmp"
)

// why says what an error means for whoever asks an agent.
func (s *snmp) why(doing string, err error) error {
	at := net.JoinHostPort(s.c.Host, strconv.Itoa(int(s.c.Port)))
	say := func(format string, args ...any) error {
		return fmt.Errorf("%s of %s over SNMP: %s", doing, at, fmt.Sprintf(format, args...))
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, gosnmp.ErrUnknownUsername):
		return say("the agent has no user %s", strconv.Quote(s.c.User))
	case errors.Is(err, gosnmp.ErrWrongDigest),
		strings.Contains(err.Error(), "not authentic"): // gosnmp 1.47 has no error value for its own refusal
		return say("wrong authentication key or protocol for user %s", strconv.Quote(s.c.User))
	case errors.Is(err, gosnmp.ErrDecryption):
		return say("wrong privacy key or protocol for user %s", strconv.Quote(s.c.User))
	case errors.Is(err, gosnmp.ErrUnknownSecurityLevel):
		return say("the agent requires another security level of user %s", strconv.Quote(s.c.User))
	case errors.Is(err, syscall.ECONNREFUSED):
		return say("no agent listens there (port unreachable)")
	case errors.As(err, &dns):
		return say("there is no such host")
	case errors.Is(err, gosnmp.ErrMaxRetriesExceeded), isTimeout(err):
		what := "a wrong community (agents do not answer then)"
		if s.c.User != "" {
			what = "a wrong privacy key (agents may not answer then)"
		}
		return say("no answer in %d tries of %s: %s, a firewall, or no agent there", s.c.Retries+1, s.c.Timeout, what)
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return say("%s", shorten(text))
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
