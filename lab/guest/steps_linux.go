package guest

import (
	"fmt"
	"strings"
	"time"

	"fettle/lab"
)

// steps plays a story that goes its own way, from act number first on (counted
// over all steps): what comes before was played before a restart.
func (p *player) steps(first int) {
	if p.orders.Shell == lab.ShellAfterStory {
		defer shell(p.orders.Console)
	}
	n := 0
	for _, s := range p.orders.Scenario.Steps {
		begin := n
		n += len(s.Acts)
		if n <= first && n > 0 {
			continue
		}
		p.stage(s.Name, func() (string, error) {
			said := ""
			for i := max(0, first-begin); i < len(s.Acts); i++ {
				a := s.Acts[i]
				switch {
				case a.Restart != "":
					p.host.Stage(lab.Stage{Name: s.Name, OK: true, Said: a.Restart})
					return "", p.restart(a.Restart, begin+i+1) // comes back only when it failed
				case a.Expect != nil:
					out, err := expect(a.Expect)
					if err != nil {
						return out, err
					}
					said = lastLine(out)
				default:
					if err := p.act(a); err != nil {
						return "", err
					}
				}
			}
			return said, nil
		})
		if p.orders.Shell == lab.ShellAfterPrepare {
			shell(p.orders.Console)
			return
		}
	}
}

// expect runs a command and compares how it ended with what is wanted.
func expect(e *lab.Expect) (string, error) {
	again := 2
	for end := time.Now().Add(e.Within); ; time.Sleep(100 * time.Millisecond) {
		out, code, err := run(e.Run, nil)
		if err == nil {
			err = judge(e, out, code)
		}
		if err != nil && e.Outcomes != nil && code == 4 && again > 0 { // on a busy machine a check may have taken too long
			again--
			continue
		}
		if err == nil || !time.Now().Before(end) {
			if err != nil {
				err = fmt.Errorf("%s: %w", strings.Join(e.Run, " "), err)
			}
			return strings.TrimSpace(out), err
		}
	}
}

func judge(e *lab.Expect, out string, code int) error {
	switch {
	case code != e.Status:
		return fmt.Errorf("exit status %d, expected %d", code, e.Status)
	case !strings.Contains(out, e.Has):
		return fmt.Errorf("expected to print %q", e.Has)
	case e.Lacks != "" && strings.Contains(out, e.Lacks):
		return fmt.Errorf("expected not to print %q", e.Lacks)
	}
	return e.Judge(out)
}
