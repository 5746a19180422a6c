package why

import (
	"strings"
	"testing"
)

func TestAsk(t *testing.T) {
	for _, c := range []struct {
		line, text string
		want       bool
	}{
		{"docker guest lost|unreachable", "Since I installed Docker my VMs are unreachable", true},
		{"docker guest lost|unreachable", "Docker is unreachable", false},
		{"read-only disk", "the disk went read-only", true},
		{"read-only disk", "only the disk can be read", false},
		{"rsync 3.0", "rsync 3.0.6", true},
		{"rsync 3.0", "rsync version v3.0", true},
		{"rsync 3.0", "rsync 3.01", false},
		{"rsync 3.0", "rsync 13.0", false},
		{"raid1 u_|_u", "md0 raid1 [2/1] [U_]", true},
		{"raid1 u_|_u", "md0 raid1 [2/2] [UU]", false},
		{"bug cve-2024-3094", "is this bug CVE-2024-3094?", true},
		{"bug cve-2024-3094", "is this bug CVE-2024-3095?", false},
		{"swap full -cgroup", "swap is full", true},
		{"swap full -cgroup", "swap of the cgroup is full", false},
		{"disk @slow", "my disk takes ages", true},
		{"disk @slow", "my disk is fine", false},
		{"max_map_count", "vm.max_map_count [65530]", true},
		{"conntrack full", "nf_conntrack: table full", true},
		{"ldaps ldap", "ldap works", false},
	} {
		x := &Index{ids: []string{"t"}, words: map[string]*word{}, asks: map[string][]*ask{}}
		x.addAsks(0, []*ask{newAsk(tokenizer{}, c.line)})
		is := false
		x.ask(&window{lines: []string{c.text}, tokens: tokens(c.text)}, &piece{}, func(_ int, _ float64, how met) { is = is || how == fully })
		if is != c.want {
			t.Errorf("%q in %q: %v, want %v", c.line, c.text, is, c.want)
		}
	}
}

// TestNearly: an ask of three words that lacks one makes its trap near, no match.
func TestNearly(t *testing.T) {
	x := testIndex(t)
	x.learned = nil // of asks alone
	all, err := x.Rank(strings.NewReader("docker installed, virtual machines on the LAN"))
	if err != nil {
		t.Fatal(err)
	}
	matches, near := Told(all)
	if len(matches) > 0 || len(near) == 0 || near[0].Trap != "docker-drops-bridged-guests" {
		t.Errorf("matches %+v, near %+v", matches, near)
	}
}

// TestVersions: an error that a release mended is another one in the next.
func TestVersions(t *testing.T) {
	x := testIndex(t)
	const line = "rsync error: error in rsync protocol data stream (code 12) at token.c(604) [receiver="
	for version, want := range map[string]int{"3.0.6": 1, "3.4.3": 0, "3.2.7": 0, "v3.1.2": 0} {
		got, err := x.Find(strings.NewReader(line + version + "]"))
		if err != nil || len(got) != want {
			t.Errorf("%s: %+v, %v", version, got, err)
		}
	}
}

// TestOtherTongues: what somebody writes around a message does not hide it.
func TestOtherTongues(t *testing.T) {
	x := testIndex(t)
	for text, want := range map[string]string{
		"Seit heute morgen steht das im Log und niemand weiß, was es " +
			"bedeutet: nf_conntrack: table full, dropping packet. Was kann ich da tun?": "conntrack-table-full",
		"вчера всё работало, а сегодня сервер пишет nf_conntrack: table full, dropping packet — что " +
			"делать?": "conntrack-table-full",
		"昨天升级以后系统一直报错 E: dpkg was interrupted, you " +
			"must manually run 'dpkg --configure -a' to correct the problem. 怎么办": "dpkg-half-done",
		"depuis la mise à jour, perl affiche toujours: perl: warning: " +
			"Setting locale failed. comment faire pour que cela disparaisse ?": "locale-not-generated",
	} {
		got, err := x.Find(strings.NewReader(text))
		if err != nil || len(got) == 0 || got[0].Trap != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestEveryAskIsFound: a line of asked needs a word of its own, or nothing leads
// to it.
func TestEveryAskIsFound(t *testing.T) {
	for _, a := range articles(t) {
		for i, k := range tokenise(tokenizer{}, a).asks {
			ok := len(k.slots) == 0 && len(k.not) > 0
			for _, slot := range k.slots {
				plain := true
				for _, f := range slot {
					plain = plain && f.seq[0][0] != '@'
				}
				ok = ok || plain
			}
			if !ok {
				t.Errorf("%s: nothing to find %q by", a.ID, a.Asked[i])
			}
			for _, field := range strings.Fields(a.Asked[i]) {
				for _, s := range strings.Split(field, "|") {
					if s != "" && s[0] == '@' && !known(s) {
						t.Errorf("%s: %s is no concept", a.ID, s)
					}
				}
			}
		}
	}
}

func known(concept string) bool {
	for _, forms := range concepts() {
		for _, c := range forms {
			if c.name == concept {
				return true
			}
		}
	}
	return false
}

func FuzzAsk(f *testing.F) {
	f.Add("docker guest -a|b 3.0", "docker 3.0 guest")
	f.Add("-|@slow|_ x", "")
	f.Fuzz(func(t *testing.T, line, text string) {
		x := &Index{ids: []string{"t"}, words: map[string]*word{}, asks: map[string][]*ask{}}
		x.addAsks(0, []*ask{newAsk(tokenizer{}, line)})
		x.ask(&window{lines: []string{text}, tokens: tokens(text)}, &piece{}, func(int, float64, met) {})
		x.ruledOut(0, &piece{lines: []string{text}})
	})
}

// TestOnlyAsks: who asks how to do something has no problem yet.
func TestOnlyAsks(t *testing.T) {
	for text, want := range map[string]bool{
		"how do I enable fstrim":                  true,
		"should THP be off for redis":             true,
		"why does my disk fill up":                false,
		"how do I log in, sshd refuses my key":    false,
		"can't log in":                            false,
		"the disk is full, what can I do":         false,
		"does ssh take minutes for everybody":     false,
		"which kernel do I need for wireguard 1?": true,
	} {
		if got := onlyAsks(tokens(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
