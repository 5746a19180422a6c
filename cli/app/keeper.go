package app

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// KeepKSM starts a second fettle that puts KSM's settings back when this one
// ends, however it ends: it waits for the end of a pipe. Closing the pipe after
// all was restored leaves it nothing to do.
func KeepKSM() (io.Closer, error) {
	cmd := exec.Command("/proc/self/exe", "tune", "ksm", "--give-back", "--after-stdin")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no signals of the terminal
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting the keeper of KSM's settings: %w", err)
	}
	return &keeper{in, cmd}, nil
}

type keeper struct {
	io.Closer
	cmd *exec.Cmd
}

// Close ends the keeper.
func (k *keeper) Close() error {
	k.Closer.Close()
	return k.cmd.Wait()
}
