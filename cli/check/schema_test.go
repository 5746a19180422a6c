package check

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "fleet", "Reports of many hosts, of fettle check --host.", fleetDocument{})
}
