package after

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchemas(t *testing.T) {
	schematest.Published(t, "after", "What did not come back after a restart, of fettle after.", document{})
	schematest.Published(t, "snapshot-saved", "What fettle snapshot saved.", saved{})
	schematest.Published(t, "snapshots", "The snapshots that are kept, of fettle snapshot --list.", listed{})
}
