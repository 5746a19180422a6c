package hub

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"fettle/cli/app"
	"fettle/fleet/hub/api"
	"fettle/fleet/hub/store"
	"fettle/internal/files"
)

func (p *program) attachCmd() *cobra.Command {
	return &cobra.Command{
		Use: "attach HOST FILE", Args: cobra.ExactArgs(2),
		Short: "Attach a capture to a host, for its page",
		Long: fmt.Sprintf(`Attaches FILE, which fettle capture --redact wrote on HOST, to that host's page.
Operators can download and remove it there. Agents send no captures. FILE may
have up to %d MiB; the newest %d of each host are kept, as long as changes are
(serve --keep).`, api.MaxCapture>>20, store.CapturesKept),
		Example: `  fettle-hub attach web1 web1.tar.zst`,
		RunE: p.withDB(func(cmd *cobra.Command, args []string, db *store.DB) error {
			h, err := find(cmd.Context(), db, args[0])
			if err != nil {
				return err
			}
			content, err := files.ReadAtMost(args[1], api.MaxCapture)
			if err != nil {
				return app.Usagef("%w", err)
			}
			a, err := api.New(api.Config{DB: db, Now: time.Now})
			if err != nil {
				return err
			}
			_, err = a.Attach(api.As(cmd.Context(), commandLine("attach")), api.AttachQuery{ID: h.Agent}, content)
			var wrong *api.BadRequest
			if errors.As(err, &wrong) {
				return app.Usagef("%s: %w", args[1], err)
			}
			return err
		}),
	}
}

// commandLine is whoever runs a verb: whoever may write the hub's folder may do all.
func commandLine(verb string) api.Who {
	return api.Who{Name: whoami(), From: Name + " " + verb, Sees: store.AllGroups}
}

// record notes in the audit log what the command line does.
func record(ctx context.Context, db *store.DB, verb, what, on, details string) error {
	by := commandLine(verb)
	err := db.AddAudit(ctx, store.Audit{At: time.Now(), Who: by.Name, From: by.From, What: what, On: on, Details: details})
	if err != nil {
		return app.Failf("the audit log: %w", err)
	}
	return nil
}

// whoami is who runs this, for the audit log.
func whoami() string {
	u, err := user.Current()
	if err != nil {
		return "?"
	}
	return u.Username
}
