package sshtotp

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"fettle/engine/trap/traptest"
	"fettle/host"
	"fettle/host/hosttest"
)

// BenchmarkCheck is one check: of a host without a second factor, of one with
// three users, and of one with 1,000 users of whom each second has a file.
func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name, file string
		users      int
	}{{"none", "no-totp", 0}, {"three-users", "healthy", 0}, {"thousand-users", "healthy", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			text, err := os.ReadFile("testdata/" + c.file + ".txtar")
			if err != nil {
				b.Fatal(err)
			}
			var pw, group, stat strings.Builder
			for i := range c.users {
				fmt.Fprintf(&pw, "u%d:x:%d:100::/home/u%d:/bin/bash\n", i, 3000+i, i)
				if i%2 == 0 {
					fmt.Fprintf(&group, ",u%d", i)
					fmt.Fprintf(
						&stat,
						"-- stat/home/u%d --\nmode 700 uid %d type dir\n-- stat/home/u%d/.google_authenticator --\nmode 400 uid %d size 99\n",
						i,
						3000+i,
						i,
						3000+i,
					)
				}
			}
			s := strings.NewReplacer("-- root/etc/group --", pw.String()+"-- root/etc/group --", "alice,bob", "alice,bob"+group.String(),
				"-- want --", stat.String()+"-- want --").
				Replace(string(text))
			src, _, err := hosttest.Parse([]byte(s))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				traptest.Run(b, &Trap, host.New(src))
			}
		})
	}
}
