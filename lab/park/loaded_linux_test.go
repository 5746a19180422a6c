package park

import (
	_ "embed"
	"os"
	"path/filepath"
	"testing"

	"fettle/internal/means"
)

// loaded is a host of Debian's services, filled with units and processes to some 320 and 3,000.
var loaded = Recipe{Name: "loaded", About: "A loaded host", Release: "bookworm", Bare: true, Boots: []string{"container"},
	Packages: []string{"rsyslog", "cron", "nginx", "haproxy", "bind9", "redis-server", "snmpd", "vsftpd", "memcached", "chrony", "nftables",
		"smartmontools", "squid", "postfix", "dovecot-imapd", "mariadb-server", "postgresql"},
	Build: `
cat > /usr/local/bin/filler <<'EOF'
#!/bin/sh
i=1
while [ $i -lt $1 ]; do sleep infinity & i=$((i+1)); done
exec sleep infinity
EOF
chmod 755 /usr/local/bin/filler
for i in $(seq 190); do
	printf '[Service]\nExecStart=/usr/local/bin/filler %d\n[Install]\nWantedBy=multi-user.target\n' $((i > 140 ? 1 : 20)) > /etc/systemd/system/filler$i.service
	printf '[Timer]\nOnCalendar=*-01-01\nUnit=filler%d.service\n[Install]\nWantedBy=timers.target\n' $i > /etc/systemd/system/filler$i.timer
done
systemctl -q enable $(seq -f filler%g.service 190) $(seq -f filler%g.timer 40)
`}

// cost is what runs on the booted host instead of ask.
//
//go:embed testdata/cost.sh
var cost string

// TestLoaded prints what fettle's verbs about a restart cost on a loaded host:
//
//	FETTLE_LONG=1 go test ./lab/park -run Loaded -v -args -fettle $PWD/fettle
func TestLoaded(t *testing.T) {
	if os.Getenv("FETTLE_LONG") == "" || *binary == "" {
		means.Left(t, "a host of 3,000 processes takes long to make")
	}
	means.Root(t)
	means.Tool(t, "mmdebstrap")
	means.Tool(t, "systemd-nspawn")
	said, err := os.ReadFile(filepath.Join(visitWith(t, images(t), loaded, loaded.Name, cost), "cost"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("CPU of the whole process, in seconds, user and system:\n%s", said)
}
