package step

import (
	"context"
	"errors"
	"syscall"
	"time"

	"fettle/engine/remedy/machine"
	"fettle/internal/octets"
	"fettle/internal/shell"
)

// SolicitRouter sends an ICMPv6 router solicitation on a link (RFC 4861
// §4.1), so that a router advertisement comes now and not in minutes.
type SolicitRouter struct {
	Link string `json:"link"`
}

func (SolicitRouter) Kind() string { return "solicit-router" }

func (s SolicitRouter) Describe() string {
	return "ask the routers on " + s.Link + " for an advertisement"
}

func (s SolicitRouter) Reversal() Reversal {
	return Reversal{Stays, "it only asks; addresses and routes from the answer expire by themselves"}
}

func (SolicitRouter) Running() bool { return true }

func (s SolicitRouter) Commands() [][]string {
	return [][]string{{"rdisc6", "-1", "--", octets.Name(s.Link)}}
}

func (SolicitRouter) Items(context.Context, machine.Machine) ([]Item, error) { return nil, nil }

func (s SolicitRouter) Apply(ctx context.Context, st *Site, _ []Item) error {
	// For a second or two after it came up a link has only addresses that may
	// not be used yet (duplicate address detection, RFC 4862 §5.4).
	for end := time.Now().Add(dadLimit); ; {
		err := st.Machine.Solicit(ctx, s.Link)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EADDRNOTAVAIL) && time.Now().Before(end) && ctx.Err() == nil:
			time.Sleep(200 * time.Millisecond)
		default:
			// It only saves waiting: routers advertise themselves anyway.
			// Whether what was wanted came about, the check tells.
			st.Note("note: %v; the next advertisement may take minutes", err)
			return nil
		}
	}
}

// Done: asking twice does no harm, and no one can see a question.
func (SolicitRouter) Done(context.Context, machine.Machine, []Item, []Item) (bool, error) {
	return false, nil
}

const dadLimit = 3 * time.Second

func (s SolicitRouter) Shell(string) (string, error) {
	return "if command -v rdisc6 > /dev/null; then rdisc6 -1 -q -r 1 -w 1000 -- " + shell.Quote(
		octets.Name(s.Link),
	) + " || :; fi # only speeds things up\n", nil
}

func (s SolicitRouter) Ansible(b *Tasks) error {
	b.Command(
		s.Describe()+" (only speeds things up)",
		[]string{"rdisc6", "-1", "-q", "-r", "1", "-w", "1000", "--", octets.Name(s.Link)},
		"      failed_when: false",
	)
	return nil
}
