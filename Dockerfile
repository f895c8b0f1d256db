# Every service and command of Signalbox: `docker run signalbox run filter`, `docker run signalbox migrate`.
FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app

# What is installed changes less often than the sources: a layer of its own.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

COPY schemas ./schemas
COPY shared ./shared
COPY services ./services

USER node
EXPOSE 8080 8090 9464
ENTRYPOINT ["node", "services/cli/bin/signalbox.mjs"]
