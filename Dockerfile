# Keywords for pictures on processors alone: docker build -t gramless . && docker run --rm gramless --help
# The page:  docker run --rm -p 8765:8765 -v /my/models:/models -v /my/pictures:/pictures gramless \
#                serve /models/holidays.gramless /pictures --host 0.0.0.0
FROM python:3.12-slim
WORKDIR /gramless
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
# PyTorch's own index has builds without the GPU libraries, which take 3 GB and more.
RUN pip install --no-cache-dir --constraint constraints.txt --index-url https://download.pytorch.org/whl/cpu \
        --extra-index-url https://pypi.org/simple torch \
    && pip install --no-cache-dir --constraint constraints.txt '.[page]'
RUN useradd --create-home gramless
USER gramless
EXPOSE 8765
ENTRYPOINT ["gramless"]
