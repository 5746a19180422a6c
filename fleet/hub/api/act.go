package api

import (
	"context"
	"time"

	"fettle/fleet/hub/store"
	"fettle/internal/units"
)

// AcceptedQuery asks for acceptances.
type AcceptedQuery struct {
	Group  string `json:"group" about:"one group only; - is the one without a name"`
	Label  string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
	Offset int    `json:"offset" most:"1000000" about:"number to skip"`
	Limit  int    `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// Acceptances are what operators accepted here, or admins on their hosts.
type Acceptances struct {
	Accepted []store.Accepted `json:"accepted"`
	Count    int              `json:"count"` // without the limit
	Next     int              `json:"next"`  // the offset of those that follow; 0: there are none
}

// CSV is a line for each.
func (l Acceptances) CSV() (header []string, lines [][]string) {
	for _, x := range l.Accepted {
		lines = append(lines, texts(x.Host.Name, x.Trap, x.Subject, x.Severity, x.Summary, x.Reason, x.Until, x.Who, stamp(x.At), x.Host.Agent))
	}
	return []string{"host", "trap", "subject", "severity", "summary", "reason", "until", "by", "on", "host id"}, lines
}

// Accepted answers what operators accepted here.
func (a *API) Accepted(ctx context.Context, q AcceptedQuery) (l Acceptances, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return l, err
	}
	if l.Accepted, err = a.DB.Acceptances(ctx, in, 0, q.Offset, limit(q.Limit)); err != nil {
		return l, err
	}
	l.Count, err = a.DB.CountAcceptances(ctx, in)
	l.Next = following(q.Offset, len(l.Accepted), l.Count)
	return l, err
}

// OwnAccepted answers what is accepted on the hosts themselves; on is since when it is found.
func (a *API) OwnAccepted(ctx context.Context, q AcceptedQuery) (l Acceptances, err error) {
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return l, err
	}
	l.Accepted, l.Count, err = a.DB.OwnAccepted(ctx, in, q.Offset, limit(q.Limit))
	l.Next = following(q.Offset, len(l.Accepted), l.Count)
	return l, err
}

// AcceptQuery accepts a finding.
type AcceptQuery struct {
	Host    string `json:"host" need:"yes" about:"the host's id"`
	Trap    string `json:"trap" need:"yes" about:"the trap"`
	Subject string `json:"subject" long:"8000" about:"the finding's subject; empty: the whole host"`
	Reason  string `json:"reason" need:"yes" about:"why it stays"`
	Until   string `json:"until" about:"the last day of the acceptance, YYYY-MM-DD; empty: no end"`
}

// Done says that an act is done.
type Done struct {
	Done bool `json:"done"`
}

// Accept accepts a finding: it counts no more until it changes or the day comes.
func (a *API) Accept(ctx context.Context, q AcceptQuery) (Done, error) {
	if err := a.lastDay(q.Until); err != nil {
		return Done{}, err
	}
	if _, err := a.host(ctx, q.Host); err != nil {
		return Done{}, err
	}
	by := who(ctx)
	err := a.DB.Accept(
		ctx,
		store.Accepted{
			Host:    store.HostRef{Agent: q.Host},
			Trap:    q.Trap,
			Subject: q.Subject,
			Reason:  q.Reason,
			Until:   q.Until,
			Who:     by.Name,
			At:      a.Now(),
		},
		store.Audit{At: a.Now(), Who: by.Name, From: by.From, What: "accept", On: onFinding(q.Host, q.Trap, q.Subject), Details: q.Reason},
	)
	return Done{err == nil}, err
}

// lastDay refuses an end that is none.
func (a *API) lastDay(s string) error {
	if s == "" {
		return nil
	}
	day, err := time.Parse(time.DateOnly, s)
	if err != nil || day.Format(time.DateOnly) < a.Now().UTC().Format(time.DateOnly) {
		return bad("until %q: expected a day that is not past, as 2026-01-31", clip(s))
	}
	return nil
}

// UnacceptQuery takes an acceptance back.
type UnacceptQuery struct {
	Host    string `json:"host" need:"yes" about:"the host's id"`
	Trap    string `json:"trap" need:"yes" about:"the trap"`
	Subject string `json:"subject" long:"8000" about:"the finding's subject"`
}

// Unaccept takes an acceptance back.
func (a *API) Unaccept(ctx context.Context, q UnacceptQuery) (Done, error) {
	if _, err := a.host(ctx, q.Host); err != nil {
		return Done{}, err
	}
	by := who(ctx)
	err := a.DB.Unaccept(ctx, store.Accepted{Host: store.HostRef{Agent: q.Host}, Trap: q.Trap, Subject: q.Subject},
		store.Audit{At: a.Now(), Who: by.Name, From: by.From, What: "take acceptance back", On: onFinding(q.Host, q.Trap, q.Subject)})
	return Done{err == nil}, err
}

func onFinding(host, trapID, subject string) string {
	if subject != "" {
		trapID += ":" + subject
	}
	return trapID + " on " + host
}

// AskQuery asks for a run.
type AskQuery struct {
	Host  string `json:"host" about:"the host's id; empty: all hosts, or those of the group and label"`
	Group string `json:"group" about:"one group only; - is the one without a name"`
	Label string `json:"label" about:"hosts with this label: NAME=VALUE, or NAME; several with commas between"`
}

// askedAtOnce is how many hosts one question may name, where it is not for all.
const askedAtOnce = 20_000

// Ask asks hosts to check now.
func (a *API) Ask(ctx context.Context, q AskQuery) (Done, error) {
	if a.Asker == nil {
		return Done{}, bad("this hub cannot ask hosts")
	}
	in, err := scope(ctx, q.Group, q.Label)
	if err != nil {
		return Done{}, err
	}
	on, agents := "all hosts", []string(nil)
	switch {
	case q.Host != "":
		if _, err := a.host(ctx, q.Host); err != nil {
			return Done{}, err
		}
		on, agents = q.Host, []string{q.Host}
	case !in.All || len(in.Labels) > 0:
		if agents, err = a.DB.Agents(ctx, in, askedAtOnce); err != nil {
			return Done{}, err
		}
		if len(agents) == 0 {
			return Done{}, store.ErrNone
		}
		on = units.Count(len(agents), "host", "hosts")
	}
	by := who(ctx)
	if err := a.DB.AddAudit(ctx, store.Audit{At: a.Now(), Who: by.Name, From: by.From, What: "ask for a run", On: on}); err != nil {
		return Done{}, err
	}
	err = a.Asker.Ask(ctx, agents)
	return Done{err == nil}, err
}

// AuditQuery asks who did what.
type AuditQuery struct {
	Before int64 `json:"before" about:"the id of the last one of an earlier answer"`
	Offset int   `json:"offset" most:"1000000" about:"number to skip"`
	Limit  int   `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// Audits are acts, the newest first.
type Audits struct {
	Acts  []store.Audit `json:"acts"`
	Count int           `json:"count"` // of all acts
	Next  int64         `json:"next"`  // as before, for older ones; 0: there are none
}

// CSV is a line for each act.
func (l Audits) CSV() (header []string, lines [][]string) {
	for _, x := range l.Acts {
		lines = append(lines, texts(stamp(x.At), x.Who, x.From, x.What, x.On, x.Details))
	}
	return []string{"time", "who", "from", "what", "on", "details"}, lines
}

// Audit answers who did what.
func (a *API) Audit(ctx context.Context, q AuditQuery) (l Audits, err error) {
	if !who(ctx).Sees.All() { // acts name hosts of all groups
		return l, errWhole
	}
	list, err := a.DB.Audits(ctx, q.Before, q.Offset, limit(q.Limit)+1)
	if err != nil {
		return l, err
	}
	list, more := cut(list, limit(q.Limit))
	l.Acts = list
	if more {
		l.Next = list[len(list)-1].ID
	}
	l.Count, err = a.DB.CountAudits(ctx)
	return l, err
}

// AttemptsQuery asks which logins were refused.
type AttemptsQuery struct {
	Offset int `json:"offset" most:"1000000" about:"number to skip"`
	Limit  int `json:"limit" most:"1000" about:"maximum number; default 50"`
}

// Attempts are logins that were refused, the latest first.
type Attempts struct {
	Attempts []store.Attempt `json:"attempts"`
	Count    int             `json:"count"` // without the limit
	Next     int             `json:"next"`  // the offset of those that follow; 0: there are none
}

// CSV is a line for each address, reason and day.
func (l Attempts) CSV() (header []string, lines [][]string) {
	for _, x := range l.Attempts {
		lines = append(lines, texts(x.Day, x.From, x.Why, x.Name, x.Count, stamp(x.First), stamp(x.Last)))
	}
	return []string{"day", "from", "why", "name tried last", "count", "first", "last"}, lines
}

// Attempts answers which logins were refused.
func (a *API) Attempts(ctx context.Context, q AttemptsQuery) (l Attempts, err error) {
	if !who(ctx).Sees.All() {
		return l, errWhole
	}
	l.Attempts, l.Count, err = a.DB.Attempts(ctx, q.Offset, limit(q.Limit))
	l.Next = following(q.Offset, len(l.Attempts), l.Count)
	return l, err
}
