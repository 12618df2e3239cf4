# One bare repository behind ssh: `docker build --file examples/git-server.Dockerfile --tag fleet-git examples`.
# Who may fetch and push is in /keys/authorized_keys; /keys/host is the private key that the server proves itself with.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git openssh-server \
 && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_* \
 && mkdir -p /run/sshd
# An account without a password, and with no command but those of git.
RUN useradd --system --create-home --password '*' --shell /usr/bin/git-shell git
# A new volume at this place begins as this repository. What was answered has to be on the disk.
RUN git init --bare --initial-branch=main /srv/fleet.git \
 && git -C /srv/fleet.git config core.fsync committed,reference \
 && chown -R git:git /srv/fleet.git
VOLUME /srv/fleet.git
EXPOSE 22
CMD ["/usr/sbin/sshd", "-D", "-e", "-o", "HostKey=/keys/host", "-o", "AuthorizedKeysFile=/keys/authorized_keys", "-o", "StrictModes=no", "-o", "AllowUsers=git", "-o", "AuthenticationMethods=publickey", "-o", "DisableForwarding=yes"]
