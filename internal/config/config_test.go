package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"fettle/internal/means"
)

const whole = `# all of it
check:
  only: [bridge-mtu, boot-full]
  skip: [ksm-scan-rate]
  unknown_ok: [all]
  network: true
  sample: 10s
severities:
  bridge-mtu: critical
accepted: /srv/accepted.yaml
history: {keep: 30}
notify:
  - mail: root
  - mail: [ops@example.org, x@example.org]
    from: fettle@example.org
    severity: warning
  - webhook: /etc/fettle/slack.url
    template: slack
  - alertmanager: http://127.0.0.1:9093
    valid: 2h
  - journal: true
  - textfile: /var/lib/prometheus/node-exporter/fettle.prom
`

func TestWhole(t *testing.T) {
	c, err := Parse("f", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	c.tree, c.name = nil, ""
	want := &Config{
		Check:      Check{[]string{"bridge-mtu", "boot-full"}, []string{"ksm-scan-rate"}, true, "10s", []string{AllTraps}},
		Severities: map[string]string{"bridge-mtu": "critical"},
		Accepted:   "/srv/accepted.yaml",
		History:    History{30},
		Notify: []Channel{{Mail: Words{"root"}},
			{Mail: Words{"ops@example.org", "x@example.org"}, From: "fettle@example.org", Severity: "warning"},
			{Webhook: "/etc/fettle/slack.url", Template: "slack"}, {Alertmanager: "http://127.0.0.1:9093", Valid: "2h"}, {Journal: true},
			{Textfile: "/var/lib/prometheus/node-exporter/fettle.prom"}},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("read %+v", c)
	}
	if c.Check.Interval() != 10*time.Second || c.Notify[3].Lasting() != 2*time.Hour || c.Notify[0].Lasting() != DefaultValid {
		t.Error("times")
	}
	names := map[string]bool{}
	for i := range c.Notify {
		names[c.Notify[i].Name()] = true
	}
	if len(names) != len(c.Notify) {
		t.Errorf("names of channels: %v", names)
	}
}

func TestMistakesAreLocated(t *testing.T) {
	for text, want := range map[string]string{
		"chekc: {}\n":                            `f:1:1: unknown field "chekc"`,
		"check:\n  skip: [a]\n  sampel: 1s\n":    `f:3:3: unknown field "sampel"`,
		"check:\n  skip: a\n":                    "f:2:",
		"check:\n  sample: soon\n":               `f:2:11: sample "soon": expected a time such as 10s`,
		"check:\n  sample: -1s\n":                "f:2:11:",
		"check:\n  network: perhaps\n":           "f:2:12:",
		"severities:\n  a: notice\n  b-c: bad\n": `f:3:8: severity "bad": expected notice, warning or critical`,
		"accepted: here.yaml\n":                  "f:1:11: accepted",
		"history:\n  keep: -3\n":                 "f:2:9: keep -3",
		"notify:\n  - mail: root\n    journal: true\n": "f:2:9: a channel is one of mail, webhook, alertmanager, journal, textfile; this " +
			"is 2 of them",
		"notify:\n  - severity: notice\n":                 "f:2:",
		"notify:\n  - mail: -bs\n":                        `f:2:11: mail "-bs"`,
		"notify:\n  - mail: root\n  - mail: 'a b'\n":      `f:3:11: mail "a b"`,
		"notify:\n  - mail: \"a\\nBcc: x\"\n":             "f:2:11: mail",
		"notify:\n  - mail: root\n    template: slack\n":  "f:3:15: template does not go with mail",
		"notify:\n  - mail: root\n    severity: bad\n":    "f:3:15: severity",
		"notify:\n  - webhook: example.org\n":             "f:2:14: webhook",
		"notify:\n  - webhook: file:///etc/passwd\n":      "f:2:14: webhook",
		"notify:\n  - webhook: http:///x\n":               "f:2:14: webhook",
		"notify:\n  - alertmanager: https:///\n":          "f:2:19: alertmanager",
		"notify:\n  - webhook: /u\n    template: teams\n": `f:3:15: template "teams": expected json, slack, matrix, ntfy`,
		"notify:\n  - alertmanager: 127.0.0.1\n":          "f:2:19: alertmanager",
		"notify:\n  - textfile: /tmp/x\n":                 "f:2:15: textfile",

		"notify:\n  - textfile: x.prom\n":                               "f:2:15: textfile",
		"notify:\n  - mail: root\n    token_file: /t\n":                 "f:3:17: token_file goes with smtp, webhook or alertmanager",
		"notify:\n  - webhook: https://x/\n    smtp: smtp://m\n":        "f:3:11: smtp does not go with webhook",
		"notify:\n  - webhook: https://x/\n    from: a\n":               "f:3:11: from does not go with webhook",
		"notify:\n  - webhook: https://x/\n    valid: 2h\n":             "f:3:12: valid does not go with webhook",
		"notify:\n  - journal: true\n    token_file: /t\n":              "f:3:17: token_file does not go with journal",
		"notify:\n  - mail: root\n    smtp: smtp://m\n":                 "f:3:11: smtp needs from",
		"notify:\n  - mail: root\n    from: -x\n":                       `mail "-x": expected an address`,
		"notify:\n  - mail: \"a\\x7f\"\n":                               "f:2:11: mail",
		"notify:\n  - mail: a,b\n":                                      "f:2:11: mail",
		"notify:\n  - alertmanager: http://a:9093\n    valid: soon\n":   `f:3:12: valid "soon": expected a time such as 50h`,
		"notify:\n  - alertmanager: http://a:9093\n    valid: 0s\n":     `f:3:12: valid "0s"`,
		"notify:\n  - alertmanager: http://a:9093\n    valid: -2h\n":    `f:3:12: valid "-2h"`,
		"notify:\n  - alertmanager: http://a:9093\n    token_file: t\n": `f:3:17: token_file "t": expected a path`,
		"notify:\n  - alertmanager: ftp://a:9093\n":                     "f:2:19: alertmanager",
		"notify:\n  - alertmanager: \"http://[::1\"\n":                  "f:2:19: alertmanager",
		"hub:\n  state: here\n":                                         `f:2:10: state "here": expected a path that begins with /`,
		"history:\n  keep: 10001\n":                                     "f:2:9: keep 10001: expected a number of runs, 1 to 10000",
		"check:\n  sample: 0s\n":                                        "f:2:11:",

		"notify:\n  - mail: root\n    from: a@x\n    smtp: smtp://m\n    token_file: t\n": `f:5:17: token_file "t": expected a path`,

		"- a\n":                               "f:1: expected settings",
		"# x\n---\n---\n- a\n":                "f:3: the document before this line is empty",
		"check: {}\n---\n# y\n---\nhub: {}\n": "f:4: the document before this line is empty",
		"check: {}\n---\ncheck: {}\n":         "a second document",
		"check: [\n":                          "f:1:",
		"check: {}\ncheck: {}\n":              "f:2:1:",
	} {
		_, err := Parse("f", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "f:") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestMailServers: a URL of a server, and no more in it.
func TestMailServers(t *testing.T) {
	channel := func(smtp string) Channel {
		return Channel{Mail: Words{"root"}, From: "a@example.org", SMTP: smtp, Token: "/etc/fettle/mail"}
	}
	for _, good := range []string{"smtp://mail", "smtps://mail.example.org:465", "smtp://[::1]:25", "smtp://mail/", "smtp://127.0.0.1"} {
		c := channel(good)
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"mail.example.org", "mail:25", "http://mail", "smtp://", "smtp://:25", "smtp://mail/x",
		"smtp://me:secret@mail",
		"smtps:mail", "smtp://[::1", "smtp:///x"} {
		c := channel(bad)
		want := "smtp \"" + bad + "\": expected smtp://HOST:PORT or smtps://HOST:PORT"
		if err := c.Check(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestGoodChannels: what is used is accepted, at the bounds too.
func TestGoodChannels(t *testing.T) {
	for _, c := range []Channel{
		{Mail: Words{"a~!#$%&'*+-/=?^_`{|}@example.org"}}, {Mail: Words{"root"}, From: "fettle"}, {Webhook: "http://example.org"},
		{Webhook: "https://example.org/x", Template: "matrix", Token: "anything"}, {Alertmanager: "https://a:9093", Valid: "1ns", Token: "/t"},
		{Journal: true, Severity: "critical"}, {Textfile: "/x.prom", Severity: "notice"},
	} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if c, err := Parse("f", []byte("history: {keep: 10000}\ncheck: {sample: 1ns}\nhub: {state: /srv/agent, accept: true}\n")); err != nil ||
		c.History.Keep != 10_000 || c.Hub != (Hub{Accept: true, State: "/srv/agent"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestTitlesHoldNoSecret: a webhook's URL is one.
func TestTitlesHoldNoSecret(t *testing.T) {
	for want, c := range map[string]Channel{
		"mail to root, ops@example.org":       {Mail: Words{"root", "ops@example.org"}},
		"webhook of hooks.example.org":        {Webhook: "https://hooks.example.org/T0/B1/secret"},
		"webhook":                             {Webhook: "http://[::1/secret"},
		"webhook /etc/fettle/slack.url":       {Webhook: "/etc/fettle/slack.url"},
		"alertmanager http://127.0.0.1:9093":  {Alertmanager: "http://127.0.0.1:9093"},
		"journal":                             {Journal: true},
		"textfile /var/lib/prometheus/x.prom": {Textfile: "/var/lib/prometheus/x.prom"},
		"":                                    {},
	} {
		if got := c.Title(); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

// TestErrorsWithoutAPlace name the file.
func TestErrorsWithoutAPlace(t *testing.T) {
	c, err := Parse("f", []byte("check: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"$.notify[3].mail", "no path"} {
		if err := c.At(at, "%d are missing", 3); err.Error() != "f: 3 are missing" {
			t.Errorf("%s: %v", at, err)
		}
	}
	if err := new(Config).At("$.check", "lost"); err.Error() != ": lost" {
		t.Errorf("of no file: %v", err)
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "reading the configuration: ") {
		t.Errorf("a folder: %v", err)
	}
}

func TestNothingConfiguresNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "{}\n", "check:\nnotify:\n"} {
		c, err := Parse("f", []byte(text))
		if err != nil || len(c.Notify) != 0 || len(c.Check.Skip) != 0 {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	if c, err := Load(filepath.Join(t.TempDir(), "none")); err != nil || c == nil {
		t.Errorf("absent: %v", err)
	}
	if _, err := Load(os.DevNull); err != nil {
		t.Error(err)
	}
}

func TestOthersMayNotDecideForRoot(t *testing.T) {
	means.Root(t)
	f := filepath.Join(t.TempDir(), "fettle.yaml")
	if err := os.WriteFile(f, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	os.Chmod(f, 0o666)
	if _, err := Load(f); err == nil || !strings.Contains(err.Error(), "others than root may write it") {
		t.Errorf("a file that anybody may write: %v", err)
	}
}

func TestFuzz(t *testing.T) { means.Fuzz(t) }

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("notify: [{mail: [a, {b: c}]}]")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Parse("f", []byte(s))
		if err == nil {
			for i := range c.Notify {
				if c.Notify[i].Kind() == "" {
					t.Error("a channel of no kind")
				}
			}
		}
	})
}

// TestDocumented: every YAML of docs/config.md, and the shipped file with all
// that it comments out, is a configuration.
func TestDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(doc), "```yaml\n")[1:]
	if len(blocks) != 2 {
		t.Errorf("%d blocks", len(blocks))
	}
	for i, b := range blocks {
		b, _, _ = strings.Cut(b, "```")
		if _, err := Parse("docs/config.md", []byte(b)); err != nil {
			t.Errorf("block %d: %v", i+1, err)
		}
	}
	shipped, err := os.ReadFile("../../packaging/fettle.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := Parse("fettle.yaml", shipped); err != nil || !reflect.DeepEqual(c.Notify, []Channel{{Journal: true}}) {
		t.Errorf("as shipped: %+v, %v", c, err)
	}
	var all strings.Builder
	for line := range strings.Lines(string(shipped)) {
		prose := strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "#  ")
		if strings.HasPrefix(line, "#") && !prose {
			line = line[1:]
		}
		all.WriteString(line)
	}
	c, err := Parse("fettle.yaml", []byte(all.String()))
	if err != nil || len(c.Notify) != 7 || len(c.Check.Only) != 2 || c.Severities["bridge-mtu"] != "critical" || c.Accepted == "" ||
		c.History.Keep != 90 {
		t.Errorf("with all that is commented out: %+v, %v\n%s", c, err, all.String())
	}
}
