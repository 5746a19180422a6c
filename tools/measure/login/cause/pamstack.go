package cause

import (
	"fmt"
	"strings"

	"fettle/host/format/pam"
)

// module is one module of sshd's PAM stack, with one set of arguments, that a
// login with a key runs: of account and session all, of auth what
// pam_setcred(3) calls, since sshd asks for no password then.
type module struct {
	rule  pam.Rule
	rules []pam.Rule // all lines that say the same
}

// modules lists what sshd's stack runs, each once.
func modules(c *pam.Config) []module {
	var out []module
	at := map[string]int{}
	for _, f := range []pam.Facility{pam.Auth, pam.Account, pam.Session} {
		rules, _ := c.Stack(f)
		for _, r := range rules {
			if r.Kind != pam.Module || r.Name() == "pam_permit" || r.Name() == "pam_deny" {
				continue
			}
			key := fmt.Sprint(r.Facility, r.Module, r.Args)
			if i, ok := at[key]; ok {
				out[i].rules = append(out[i].rules, r)
				continue
			}
			at[key] = len(out)
			out = append(out, module{r, []pam.Rule{r}})
		}
	}
	return out
}

// permits is a stack in which nothing happens.
const permits = `auth required pam_permit.so
account required pam_permit.so
password required pam_permit.so
session required pam_permit.so
`

// alone is a stack in which one module is asked, whatever it answers.
func (m *module) alone() []byte {
	words := []string{string(m.rule.Facility), "optional", m.rule.Module}
	for _, a := range m.rule.Args {
		words = append(words, quoted(a))
	}
	return []byte(permits + strings.Join(words, " ") + "\n")
}

// quoted writes an argument as libpam reads it back (pam_misc.c, _pam_tokenize).
func quoted(a string) string {
	if !strings.ContainsAny(a, " \t[]") {
		return a
	}
	return "[" + strings.ReplaceAll(a, "]", `\]`) + "]"
}

// replaced is a file's text with the module of these lines replaced by
// pam_permit.so, under the same control, so that jumps lead where they did.
func replaced(text string, rules []pam.Rule) string {
	lines := strings.SplitAfter(text, "\n")
	for _, r := range rules {
		i := r.Line - 1
		if i < 0 || i >= len(lines) {
			continue
		}
		ctl := r.Control
		if strings.Contains(ctl, "=") {
			ctl = "[" + ctl + "]"
		}
		end := i // a backslash continues the line
		for end < len(lines)-1 && strings.HasSuffix(strings.TrimRight(lines[end], " \t\n"), `\`) {
			lines[end] = "#\n"
			end++
		}
		lines[end] = fmt.Sprintf("%s %s pam_permit.so\n", r.Facility, ctl)
	}
	return strings.Join(lines, "")
}

// without are the files of a stack in which these modules are not asked.
func without(read func(string) ([]byte, error), mods []module) (map[string][]byte, error) {
	by := map[string][]pam.Rule{}
	for _, m := range mods {
		for _, r := range m.rules {
			by[r.File] = append(by[r.File], r)
		}
	}
	out := map[string][]byte{}
	for file, rules := range by {
		b, err := read(file)
		if err != nil {
			return nil, err
		}
		out[file] = []byte(replaced(string(b), rules))
	}
	return out, nil
}
