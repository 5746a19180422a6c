package cli

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fettle/engine/message"
	"fettle/host/redact"
	"fettle/traps"
	"fettle/why"
)

var writeLogWords = flag.Bool("logwords", false, "write the words of all messages into host/redact")

// spoken are the messages of all traps, and what people see of them.
func spoken(t *testing.T) map[string][]message.Message {
	all := map[string][]message.Message{}
	for _, tr := range traps.All() {
		a, err := tr.Lore.Article()
		if err != nil {
			t.Fatal(err)
		}
		all[a.ID] = a.Messages
	}
	return all
}

// TestLogWords: the words that redaction leaves in logs are those of the messages.
func TestLogWords(t *testing.T) {
	known := map[string]bool{}
	for _, ms := range spoken(t) {
		for _, m := range ms {
			for _, w := range regexp.MustCompile(`[A-Za-z0-9]*[A-Za-z][A-Za-z0-9]*`).FindAllString(m.Words(), -1) {
				if len(w) > 2 {
					known[strings.ToLower(w)] = true
				}
			}
		}
	}
	words := make([]string, 0, len(known))
	for w := range known {
		words = append(words, w)
	}
	slices.Sort(words)
	want := strings.Join(words, "\n") + "\n"
	const file = "../host/redact/logwords.txt"
	if *writeLogWords {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s differs from the words of the traps' messages; this writes it: make lists", file)
	}
}

// hidden are messages of which redaction replaces a word: of a file's name, in quotes, or behind an option or a colon,
// where names stand.
var hidden = []string{
	"-R not supported here",
	"<ssh_config|.ssh/config><text> line <n>: Bad key types '<text>ssh-dss<text>'",
	"Held packages were changed and -y was used without --allow-change-held-packages",
	"Module Configuration detected without loadmodule directive or no ApplyConfig call: aborting",
	"ModuleNotFoundError: No module named '<asyncore|asynchat|smtpd|imp|cgi|cgitb|crypt|telnetlib|pipes|" +
		"nntplib|imghdr|sndhdr|spwd|nis|xdrlib|uu|chunk|audioop|aifc|sunau|mailcap|ossaudiodev|binhex>'",
	"ModuleNotFoundError: No module named 'distutils'",
	"Refusing refresh of partial LV <word>. Use '--activationmode partial' to override.",
	"TLS: could not set cipher list <SECURE|NORMAL|PFS><text>",
	"Unable to load host key: <path>ssh_host_dsa_key",
	"connect() to unix:<path>/php<n>.<n>-fpm.sock failed (2: No such file or directory)",
	"file <`|'><path>vmlinuz<text>' not found",
	"lt_dlopenext failed: (back_<hdb|bdb><text>) file not found",
	"server role = 'active directory domain controller' not compatible with running smbd standalone",
}

// TestRedactedLineSaysTheSame: of a redacted line of a log, why says what it says of the line:
// each message of each trap, as its program prints it.
func TestRedactedLineSaysTheSame(t *testing.T) {
	x, err := why.New(traps.All())
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	r.LearnHost("web1.example.com")
	n, missed := 0, 0
	for id, ms := range spoken(t) {
		for _, m := range ms {
			by := m.Says
			if i := strings.IndexAny(by, ", "); i > 0 {
				by = by[:i]
			}
			named := func(text string) bool {
				ranked, err := x.Rank(strings.NewReader("Jan  2 03:04:05 web1 " + by + ": " + text + "\n"))
				if err != nil {
					t.Fatal(err)
				}
				matches, _ := why.Told(ranked)
				return slices.ContainsFunc(matches, func(m why.Match) bool { return m.Trap == id })
			}
			plain := strings.ReplaceAll(m.Sample(), "something else", "something else ")
			if !named(plain) {
				continue
			}
			n++
			if !named(r.Log(plain)) {
				missed++
				if !slices.Contains(hidden, m.Text) {
					t.Errorf("%s: %s: %q is no longer told when it is redacted: %q", id, by, plain, r.Log(plain))
				}
			} else if slices.Contains(hidden, m.Text) {
				t.Errorf("%s: %q is told when it is redacted, too: it is no exception", id, m.Text)
			}
		}
	}
	t.Logf("%d messages, %d missed", n, missed)
	if n < 300 {
		t.Errorf("only %d messages", n)
	}
}
