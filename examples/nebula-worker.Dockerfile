# Nebula's worker, patched for this manager: `docker build --file examples/nebula-worker.Dockerfile --tag nebula-worker examples`.
# An app's image is called container_image here, and there are no cron jobs. The build fails if the worker reads neither name.
ARG WORKER=nebulaorchestrator/worker
FROM ${WORKER}
RUN sed -i -e 's/"docker_image"/"container_image"/g' \
           -e 's/\["reply"\]\["\(cron_jobs\(_list\)\{0,1\}\)"\]/["reply"].get("\1", [])/g' /worker/worker.py \
 && grep -q '"container_image"' /worker/worker.py
