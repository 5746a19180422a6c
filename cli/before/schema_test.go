package before

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "before-reboot", "What a restart will do to a host, of fettle before reboot.", document{})
	schematest.Published(t, "before-reboot-fleet", "What a restart will do to many hosts, of fettle before reboot --host.", fleetDocument{})
}
