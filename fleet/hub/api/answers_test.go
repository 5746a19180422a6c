package api

import (
	"testing"
)

// TestAnswers: which rows are answered in which order, to who sees all groups, and to who sees web
// alone. Who has no rights sees nothing.
func TestAnswers(t *testing.T) {
	h := smallFleet(t)
	for _, c := range []struct {
		path     string
		columns  []string
		all, web string
	}{
		{"/api/v1/hosts", []string{"host"}, "web2 web1 db1 lone same same",
			"web2 web1 same"},
		{"/api/v1/hosts?order=name", []string{"host", "group", "labels"},
			"db1:db:env=prod,rack=7 lone:: same:web: same:db: web1:web:env=prod web2:web:env=test",
			"same:web: web1:web:env=prod web2:web:env=test"},
		{"/api/v1/hosts?order=seen", []string{"host", "seen"},
			"lone:day-0T07:00:00Z web1:day-0T10:00:00Z web2:day-0T10:00:00Z db1:day-0T11:00:00Z same:day-0T11:00:00Z " +
				"same:day-0T11:00:00Z",
			"web1:day-0T10:00:00Z web2:day-0T10:00:00Z same:day-0T11:00:00Z"},
		{"/api/v1/hosts?severity=warning", []string{"host", "critical", "warning", "notice", "unknown", "accepted"},
			"web2:1:2:0:0:0 web1:1:1:0:0:1 db1:0:1:1:1:0 lone:0:1:0:0:0",
			"web2:1:2:0:0:0 web1:1:1:0:0:1"},
		{"/api/v1/hosts?silent=true", []string{"host"}, "lone", ""},
		{"/api/v1/hosts?q=EB", []string{"host"}, "web2 web1",
			"web2 web1"},
		{"/api/v1/hosts?group=db", []string{"host"}, "db1 same", ""},
		{"/api/v1/hosts?group=-", []string{"host"}, "lone", ""},
		{"/api/v1/hosts?label=env", []string{"host"}, "web2 web1 db1",
			"web2 web1"},
		{"/api/v1/hosts?label=env=prod,rack", []string{"host"}, "db1", ""},
		{"/api/v1/curves?days=7",
			[]string{"day", "hosts", "critical", "warning", "notice", "unknown", "accepted", "new", "resolved", "returned"},
			"day-4:0:0:0:0:0:0:3:0:0 day-0:6:1:4:1:3:1:7:1:0",
			"day-4:0:0:0:0:0:0:2:0:0 day-0:3:1:3:0:0:1:5:1:0"},
		{"/api/v1/matrix", []string{"trap", "title", "severity", "hosts", "critical", "warning", "notice", "unknown", "accepted"},
			"disk-full:The disk is full:critical:2:1:1:0:2:0 late-clock:The clock is late:warning:3:0:2:1:1:0",
			"disk-full:The disk is full:critical:2:1:1:0:0:0 late-clock:The clock is late:warning:1:0:1:0:0:0"},
		{"/api/v1/matrix?unknown=true&group=db", []string{"trap", "severity"}, "late-clock:notice disk-full:unknown", ""},
		{"/api/v1/matrix?severity=warning", []string{"trap", "severity"}, "disk-full:critical late-clock:warning",
			"disk-full:critical late-clock:warning"},
		{"/api/v1/matrix?severity=critical", []string{"trap", "severity"}, "disk-full:critical",
			"disk-full:critical"},
		{"/api/v1/changes", []string{"kind", "severity", "host", "group", "trap", "subject"},
			"new:warning:web2:web:disk-full:/c new:warning:web2:web:disk-full:/b resolved:critical:web1:web:disk-full:/old " +
				"new:notice:web1:web:late-clock:own new:warning:web1:web:late-clock: new:warning:lone::late-clock: " +
				"new:notice:db1:db:late-clock: new:critical:web1:web:disk-full:/old new:critical:web1:web:disk-full:/a",
			"new:warning:web2:web:disk-full:/c new:warning:web2:web:disk-full:/b resolved:critical:web1:web:disk-full:/old " +
				"new:notice:web1:web:late-clock:own new:warning:web1:web:late-clock: new:critical:web1:web:disk-full:/old " +
				"new:critical:web1:web:disk-full:/a"},
		{"/api/v1/changes?since=24h&kind=all", []string{"kind", "host", "trap", "subject"},
			"new:web2:disk-full:/c new:web2:disk-full:/b resolved:web1:disk-full:/old new:web1:late-clock:own " +
				"new:web1:late-clock: new:lone:late-clock:",
			"new:web2:disk-full:/c new:web2:disk-full:/b resolved:web1:disk-full:/old new:web1:late-clock:own new:web1:late-clock:"},
		{"/api/v1/changes?kind=resolved", []string{"kind", "host", "trap", "subject"}, "resolved:web1:disk-full:/old",
			"resolved:web1:disk-full:/old"},
		{"/api/v1/changes?host=w2", []string{"kind", "host", "trap", "subject"},
			"new:web2:disk-full:/c new:web2:disk-full:/b new:web2:web-own:",
			"new:web2:disk-full:/c new:web2:disk-full:/b new:web2:web-own:"},
		{"/api/v1/changes?host=d1", []string{"kind", "host", "trap", "subject"}, "new:db1:db-own: new:db1:late-clock:",
			"404"},
		{"/api/v1/changes?trap=late-clock&severity=warning", []string{"kind", "host", "trap", "subject"},
			"new:lone:late-clock: new:web1:late-clock:",
			"new:web1:late-clock:"},
		{"/api/v1/hosts/w1", []string{"severity", "trap", "subject", "summary", "accepted"},
			"critical:disk-full:/a:disk-full /a:false warning:late-clock::late-clock :false notice:late-clock:own:late-clock own:true",
			"critical:disk-full:/a:disk-full /a:false warning:late-clock::late-clock :false notice:late-clock:own:late-clock own:true"},
		{"/api/v1/hosts/d1", []string{"severity", "trap", "subject", "summary", "accepted"},
			"warning:db-own::db-own :false notice:late-clock::late-clock :false unknown:disk-full::denied:false",
			"404"},
		{"/api/v1/traps/late-clock/hosts", []string{"severity", "host", "group", "subject", "summary", "accepted"},
			"warning:web1:web::late-clock :false warning:lone:::late-clock :false notice:web1:web:own:late-clock own:true " +
				"notice:db1:db::late-clock :false unknown:same:db::denied:false",
			"warning:web1:web::late-clock :false notice:web1:web:own:late-clock own:true"},
		{"/api/v1/traps/disk-full/hosts?severity=unknown", []string{"severity", "host"}, "unknown:db1 unknown:same", ""},
		{"/api/v1/traps/disk-full/hosts?severity=warning", []string{"severity", "host", "subject"}, "warning:web2:/b warning:web2:/c",
			"warning:web2:/b warning:web2:/c"},
		{"/api/v1/traps/disk-full/curve?days=6", []string{"day", "hosts", "new", "resolved", "returned"}, "day-4:0:2:0:0 day-0:2:2:1:0",
			"day-5:0:0:0:0 day-4:1:2:0:0 day-3:1:0:0:0 day-2:1:0:0:0 day-1:1:0:0:0 day-0:2:2:1:0"},
		{"/api/v1/foreign", []string{"host", "group", "trap", "title", "severity", "count"},
			"web2:web:web-own::critical:1 db1:db:db-own::warning:1",
			"web2:web:web-own::critical:1"},
		{"/api/v1/fixes", []string{"host", "change", "who", "trap", "now", "verified"},
			"web1:fix2:root:disk-full:applied:false db1:fix0:root:disk-full:applied:true " +
				"web1:fix1:root:late-clock:applied:false web1:fix0:root:disk-full:applied:true",
			"web1:fix2:root:disk-full:applied:false web1:fix1:root:late-clock:applied:false web1:fix0:root:disk-full:applied:true"},
		{"/api/v1/fixes?trap=late-clock", []string{"host", "change"}, "web1:fix1",
			"web1:fix1"},
		{"/api/v1/restarts", []string{"what", "host", "summary"},
			"away:lone:silent since day-0T07:00:00Z away:web1:silent since day-0T10:00:00Z away:web2:silent since day-0T10:00:00Z",
			"away:web1:silent since day-0T10:00:00Z away:web2:silent since day-0T10:00:00Z"},
		{"/api/v1/restarts?since=4d&until=4h", []string{"what", "host", "summary"}, "away:lone:silent since day-0T07:00:00Z", ""},
		{"/api/v1/coverage", []string{"trap", "reason", "count"}, "disk-full:denied:2 late-clock:denied:1", ""},
		{"/api/v1/accepted", []string{"host", "trap"}, "", ""},
		{"/api/v1/accepted/hosts", []string{"host", "trap", "subject", "severity", "reason"}, "web1:late-clock:own:notice:it is so",
			"web1:late-clock:own:notice:it is so"},
		{"/api/v1/compare?a=web1&b=web2", []string{"kind", "trap", "subject", "web1", "web2"},
			"new:web-own::not checked:critical: web-own  new:disk-full:/b:not found:warning: disk-full /b " +
				"new:disk-full:/c:not found:warning: disk-full /c resolved:disk-full:/a:critical: disk-full /a:not found " +
				"unseen:late-clock::warning: late-clock :not checked unseen:late-clock:own:notice: late-clock own:not checked",
			"new:web-own::not checked:critical: web-own  new:disk-full:/b:not found:warning: disk-full /b " +
				"new:disk-full:/c:not found:warning: disk-full /c resolved:disk-full:/a:critical: disk-full /a:not found " +
				"unseen:late-clock::warning: late-clock :not checked unseen:late-clock:own:notice: late-clock own:not checked"},
	} {
		if got := h.columns(ann, c.path, c.columns...); got != c.all {
			t.Errorf("%s: %q, want %q", c.path, got, c.all)
		}
		if got := h.columns(wes, c.path, c.columns...); got != c.web {
			t.Errorf("%s, web alone: %q, want %q", c.path, got, c.web)
		}
		if got := h.columns(nobody, c.path, c.columns...); got != "" && got != "404" {
			t.Errorf("%s, without rights: %q", c.path, got)
		}
	}
}
