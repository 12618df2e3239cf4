# One bare repository over SSH: `docker build --file examples/git-server.Dockerfile --tag fleet-git examples`.
# /keys/authorized_keys, readable by every user, lists who may fetch and push; /keys/host is the private host key of the server.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git openssh-server \
 && rm -rf /var/lib/apt/lists/* /etc/ssh/ssh_host_* \
 && mkdir -p /run/sshd
# An account without a password that can run only git's commands.
RUN useradd --system --create-home --password '*' --shell /usr/bin/git-shell git
# A new volume mounted here starts as this repository. Acknowledged pushes must be on disk.
RUN git init --bare --initial-branch=main /srv/fleet.git \
 && git -C /srv/fleet.git config core.fsync committed,reference \
 && chown -R git:git /srv/fleet.git
VOLUME /srv/fleet.git
EXPOSE 22
CMD ["/usr/sbin/sshd", "-D", "-e", "-o", "HostKey=/keys/host", "-o", "AuthorizedKeysFile=/keys/authorized_keys", "-o", "StrictModes=no", "-o", "AllowUsers=git", "-o", "AuthenticationMethods=publickey", "-o", "DisableForwarding=yes"]
