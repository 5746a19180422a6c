package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

type fleetInput struct {
	Question string `json:"question" jsonschema:"overview, hosts, host, trap (which hosts have it), or changes"`
	Trap     string `json:"trap,omitempty" jsonschema:"for trap, and to filter changes"`
	Host     string `json:"host,omitempty" jsonschema:"for host, and to filter changes: its agent, as hosts gives it"`
	Search   string `json:"search,omitempty" jsonschema:"for hosts: a part of the name"`
	Group    string `json:"group,omitempty" jsonschema:"only hosts of this group"`
	Since    string `json:"since,omitempty" jsonschema:"for changes: a time such as 2026-11-26T00:00:00Z"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"the cursor of the answer before"`
}

const fleetPage = 50

// fleet asks the hub's API (docs/schema/hub-1.openapi.json). It only gets.
func (d *desk) fleet(ctx context.Context, _ *call, in fleetInput) (Answer, error) {
	q := url.Values{}
	set := func(name, v string) {
		if v != "" {
			q.Set(name, v)
		}
	}
	if in.Cursor != "" && !cursor.MatchString(in.Cursor) {
		return Answer{}, fmt.Errorf("unknown cursor %q", visible(in.Cursor, 40))
	}
	set("offset", in.Cursor)
	q.Set("limit", strconv.Itoa(fleetPage))
	set("group", in.Group)
	path := ""
	switch in.Question {
	case "overview":
		path, q = "/api/v1/fleet", url.Values{}
	case "hosts":
		path = "/api/v1/hosts"
		set("q", in.Search)
	case "host":
		if err := named("host", agentName, in.Host); err != nil {
			return Answer{}, err
		}
		path = "/api/v1/hosts/" + in.Host
	case "trap":
		if err := named("trap", trapName, in.Trap); err != nil {
			return Answer{}, err
		}
		path = "/api/v1/traps/" + in.Trap + "/hosts"
	case "changes":
		path = "/api/v1/changes"
		q.Del("offset")
		set("trap", in.Trap)
		set("host", in.Host)
		set("since", in.Since)
		set("before", in.Cursor)
	default:
		return Answer{}, fmt.Errorf("question is %q: expected overview, hosts, host, trap or changes", visible(in.Question, 40))
	}
	v, err := d.get(ctx, path, q)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Says: "the hub's answer", HostSays: trimmed(foreign(v, 0))}
	m, _ := v.(map[string]any)
	switch next := m["next"].(type) { // an offset, or of changes where the older ones begin
	case float64:
		if next > 0 {
			a.Cursor = strconv.FormatFloat(next, 'f', -1, 64)
		}
	case string:
		if cursor.MatchString(next) {
			a.Cursor = next
		}
	}
	return a, nil
}

// get asks the hub. It follows no redirect: the token is for this hub.
func (d *desk) get(ctx context.Context, path string, q url.Values) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Hub+path+"?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+d.Token)
	req.Header.Set("Accept", "application/json")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the hub: %w", err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxOutput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("asking the hub: %w", err)
	case len(b) > maxOutput:
		return nil, fmt.Errorf("the hub's answer is larger than %d MiB", maxOutput>>20)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the hub answers %s: %s", res.Status, visible(string(b), 200))
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("the hub's answer is not JSON: %w", err)
	}
	return v, nil
}
