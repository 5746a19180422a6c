package why

import (
	"strings"
	"testing"
)

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
