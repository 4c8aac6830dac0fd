# Sourced by run, test and manage with $here (the checkout) and $what (run, test or manage) set.
# Only shell built-ins, so that it also works where PATH holds next to nothing.
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
for python in python3 python3.14 python3.13 python3.12 python3.11; do
    # Asking the program itself: a version manager's shim may be there without a Python behind it.
    if "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        exec "$python" -I "$here/kamerplanter/runtime/bootstrap.py" "$what" "$@"
    fi
done
echo "Kamerplanter needs Python 3.11 or newer and found none; install it (Debian, Ubuntu: apt-get install python3 python3-venv) and start ./$what again." >&2
exit 1
