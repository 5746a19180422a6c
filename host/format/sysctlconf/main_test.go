package sysctlconf

import (
	"os"
	"testing"
)

// child is set when the test binary runs itself to become a reader of
// sysctl.d in namespaces of its own; see differential_linux_test.go.
var child func(root string) error

func TestMain(m *testing.M) {
	if root := os.Getenv("SYSCTLCONF_CHILD"); root != "" && child != nil {
		err := child(root)
		os.Stderr.WriteString("child: " + err.Error() + "\n") // it returns only when it failed
		os.Exit(70)
	}
	os.Exit(m.Run())
}
