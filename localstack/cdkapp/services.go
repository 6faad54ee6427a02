package cdkapp

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// ServicesFile is the path of a file below the root of a checkout. The file holds the address of the
// checkout's example services. Each checkout has its own address, so that agents never call the services of
// another checkout.
const ServicesFile = "localstack/.state/services"

// ServicesAddress returns the loopback address of the example services of the checkout at root. The first
// call chooses a free port. Later calls return the same address.
func ServicesAddress(root string) (string, error) {
	file := filepath.Join(root, ServicesFile)
	data, err := os.ReadFile(file)
	if err == nil {
		address := strings.TrimSpace(string(data))
		if errLoopback := Loopback("http://" + address); errLoopback != nil {
			return "", fmt.Errorf("%s: %w", file, errLoopback)
		}
		return address, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("address of the example's services: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("address of the example's services: %w", err)
	}
	address := listener.Addr().String()
	err = errors.Join(listener.Close(), os.MkdirAll(filepath.Dir(file), 0o755),
		os.WriteFile(file, []byte(address+"\n"), 0o644))
	return address, err
}
