package fix

import (
	"testing"

	"fettle/internal/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Published(t, "fix", "What fettle fix planned or did on one host, of fettle fix --format json.", document{})
	schematest.Published(t, "made-changes", "What fettle changed on a host, of fettle changes --format json.", madeDocument{})
}
