package guest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// shell opens a shell on the console and waits for its end.
func shell() {
	con, err := os.OpenFile("/dev/console", os.O_RDWR, 0)
	if err != nil {
		fmt.Println("fettle lab: opening the console:", err)
		return
	}
	defer con.Close()
	fmt.Fprint(con, "\r\nA throwaway machine. fettle is /init; exit ends it.\r\n")
	os.Symlink("/init", "/usr/bin/fettle")
	cmd := exec.Command("/usr/bin/bash", "--norc", "-i")
	cmd.Env = append(os.Environ(), "TERM=linux", "PS1=lab# ")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = con, con, con
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(con, "fettle lab:", err)
	}
}
