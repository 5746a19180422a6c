package accept

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "accepted", "What is accepted, of fettle accept --list.", document{})
}
